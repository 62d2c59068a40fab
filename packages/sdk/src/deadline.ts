/** Options of every call. */
export interface RequestOptions {
  /** Cancels the call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Limits the whole call, including its retries, the pauses between them, and reading the image. When the time is up,
   * the call rejects with a `RequestTimeoutError`. Default: no limit beyond the client's `timeoutMs` and `maxRetries`.
   */
  readonly timeoutMs?: number | undefined;
}

/** Timers cannot wait longer than this, almost 25 days. A longer timeout counts as no limit. */
const maxTimerMs = 2 ** 31 - 1;

/**
 * Runs `work` with a signal that aborts with the caller's signal, or when the timeout elapses.
 *
 * @param timeoutError creates the reason with which the timeout aborts the signal
 */
export async function withDeadline<T>(
  { signal, timeoutMs = Number.POSITIVE_INFINITY }: RequestOptions,
  timeoutError: (timeoutMs: number) => Error,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  // Such as Number() of a variable that is unset, which must not mean to wait forever.
  if (typeof timeoutMs !== 'number' || Number.isNaN(timeoutMs)) {
    throw new TypeError(`timeoutMs must be a number of milliseconds, not ${timeoutMs}`);
  }
  // AbortSignal.any is missing in Safari before 17.4, Chrome before 116 and Firefox before 124.
  const controller = new AbortController();
  const expire = () => controller.abort(timeoutError(timeoutMs));
  const cancel = () => controller.abort(signal?.reason);
  const timer = timeoutMs <= maxTimerMs ? setTimeout(expire, Math.max(0, timeoutMs)) : undefined;
  signal?.addEventListener('abort', cancel, { once: true });
  if (signal?.aborted) cancel();
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', cancel);
  }
}

/** Rejects as soon as the signal aborts, for work that may ignore the signal, such as a stream or a custom fetch. */
export function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
