/**
 * Replaces this process's clock. Must be imported before the code that reads it. The clock waits for nothing: `waitedMs` is
 * added to each reading, and from the n-th reading on, `jumpMs`.
 */
export const clock = { waitedMs: 0, nth: Number.POSITIVE_INFINITY, jumpMs: 0, reads: 0 };

export const realNow = Date.now;
Date.now = () => realNow() + clock.waitedMs + (++clock.reads >= clock.nth ? clock.jumpMs : 0);
