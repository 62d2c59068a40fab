/**
 * Runs a task one at a time whose every run serves all callers, such as a sync of a disk. Calls during a run share the
 * next one, so each call gets the result of a run that began after it. (`cached` gives the result of an earlier one.)
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
