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

/** Timers cannot wait longer than this, almost 25 days. A limit of this or more counts as none. */
export const maxTimerMs = 2 ** 31 - 1;

/**
 * Runs `work` with a signal that aborts with the caller's signal, or when the timeout elapses. Rejects as soon as it
 * aborts: the work may ignore it, such as a stream or a custom fetch.
 *
 * @param timeoutError creates the reason with which the timeout aborts the signal
 */
export async function withDeadline<T>(
  { signal, timeoutMs = Number.POSITIVE_INFINITY }: RequestOptions,
  timeoutError: (timeoutMs: number) => Error,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const deadline = new AbortController();
  const expire = () => deadline.abort(timeoutError(timeoutMs));
  // For NaN, such as `Number()` of an unset variable, the time is up at once.
  const timer = timeoutMs >= maxTimerMs ? undefined : setTimeout(expire, timeoutMs);
  const either = signal ? AbortSignal.any([signal, deadline.signal]) : deadline.signal;
  try {
    return await abortable(work(either), either);
  } finally {
    clearTimeout(timer);
  }
}

/** Rejects as soon as the signal aborts. */
export function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
