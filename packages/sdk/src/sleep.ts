/** Resolves after `ms`, or with `early`. Rejects with the signal's reason when it aborts. */
export function sleep(ms: number, signal: AbortSignal, early?: Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    };
    const abort = () => {
      end();
      reject(signal.reason);
    };
    const wake = () => {
      end();
      resolve();
    };
    const timer = setTimeout(wake, ms);
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    void early?.then(wake);
  });
}
