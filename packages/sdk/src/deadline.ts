/** What every call takes. */
export interface RequestOptions {
  /** Ends the call at once; it then rejects with the signal's own reason. */
  readonly signal?: AbortSignal | undefined;
  /**
   * How long the call may take in all: with its retries, the pauses between them, and reading the image. Then it rejects
   * with a `RequestTimeoutError`. Default: as long as the client's `timeoutMs` for each attempt and its `maxRetries` allow.
   */
  readonly timeoutMs?: number | undefined;
}

/** What a timer can hold, almost 25 days. Whoever allows more means no limit. */
export const longestTimerMs = 2 ** 31 - 1;

/**
 * Runs `work` with a signal that is aborted when the caller's is, or when the time has run out.
 *
 * @param overdue makes the error that the signal is then aborted with, and so what `work` rejects with
 */
export async function withDeadline<T>(
  { signal, timeoutMs = Number.POSITIVE_INFINITY }: RequestOptions,
  overdue: (timeoutMs: number) => Error,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  // One controller for both: AbortSignal.any is missing in Safari before 17.4, Chrome before 116 and Firefox before 124.
  const either = new AbortController();
  const expire = () => either.abort(overdue(timeoutMs));
  const cancel = () => either.abort(signal?.reason);
  const timer = timeoutMs <= longestTimerMs ? setTimeout(expire, Math.max(0, timeoutMs)) : undefined;
  signal?.addEventListener('abort', cancel, { once: true });
  if (signal?.aborted) cancel();
  try {
    return await work(either.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', cancel);
  }
}

/** What is left of a limit as time goes by: for a call that is made of several. */
export function timeLeft(timeoutMs: number = Number.POSITIVE_INFINITY): () => number {
  const end = Date.now() + timeoutMs;
  return () => Math.max(0, end - Date.now());
}

/** `work`, or the signal's reason as soon as it is aborted; for work that may not heed it: a stream, somebody's own fetch. */
export function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
