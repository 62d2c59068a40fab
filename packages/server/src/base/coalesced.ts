/**
 * Runs a task that serves all of its callers, such as a sync of a disk, once at a time. Calls during a run share the
 * next one, so each gets the result of a run that began after it. (`cached` returns the result of an earlier run.)
 */
export function coalesced<T>(task: () => Promise<T>): () => Promise<T> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;
  return () => {
    next ??= running
      .catch(() => {})
      .then(() => {
        next = undefined;
        const current = task();
        running = current;
        return current;
      });
    return next;
  };
}
