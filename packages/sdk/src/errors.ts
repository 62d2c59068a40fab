import type { ErrorCode, Task } from '@gen3d/schema';

/** `error.code`: the API's own codes, those of this client, and whatever a newer server may add. */
export type Gen3dErrorCode =
  | ErrorCode
  | 'forbidden'
  | 'rate_limited'
  | 'connection_failed'
  | 'timeout'
  | 'invalid_response'
  | 'job_failed'
  | 'wait_timeout'
  | 'webhook_unverified'
  // Keeps the known codes in an editor's completion while any string is allowed.
  | (string & Record<never, never>);

export interface Gen3dErrorDetails {
  /** HTTP status, where there was an answer. */
  readonly status?: number | undefined;
  /** What the server's log calls this request. */
  readonly requestId?: string | undefined;
  /** How long the server asked to stay away (`Retry-After`), where it did. */
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/**
 * Everything this client throws, but two: an aborted `signal` rejects with its own reason, and a mistake in the
 * program (a webhook secret that is no string, say) is a TypeError.
 */
export class Gen3dError extends Error {
  override readonly name: string = 'Gen3dError';
  readonly status: number | undefined;
  readonly requestId: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(
    readonly code: Gen3dErrorCode,
    message: string,
    { status, requestId, retryAfterMs, cause }: Gen3dErrorDetails = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.status = status;
    this.requestId = requestId;
    this.retryAfterMs = retryAfterMs;
  }
}

/** No key, a wrong key, a revoked key. */
export class AuthenticationError extends Gen3dError {
  override readonly name = 'AuthenticationError';
}

/** The request was wrong, or the image was refused before it was sent. The message names the field. */
export class InvalidRequestError extends Gen3dError {
  override readonly name = 'InvalidRequestError';
}

/** The balance is below what a new job needs; both figures in USD. */
export class InsufficientBalanceError extends Gen3dError {
  override readonly name = 'InsufficientBalanceError';

  constructor(
    readonly balanceUsd: number,
    readonly minBalanceUsd: number,
    message: string,
    details?: Gen3dErrorDetails,
  ) {
    super('insufficient_balance', message, details);
  }
}

/** An unknown job, another account's job, or one older than 90 days. */
export class NotFoundError extends Gen3dError {
  override readonly name = 'NotFoundError';
}

/** The account has no webhook endpoint. */
export class NotConfiguredError extends Gen3dError {
  override readonly name = 'NotConfiguredError';
}

/** Still told to slow down after all retries, or told to stay away for more than a minute: see `retryAfterMs`. */
export class RateLimitError extends Gen3dError {
  override readonly name = 'RateLimitError';
}

/** The server failed, after all retries, or answered something that is no gen3d answer. */
export class ServerError extends Gen3dError {
  override readonly name = 'ServerError';
}

/** No whole answer arrived: nobody listens there, or the connection broke. */
export class ConnectionError extends Gen3dError {
  override readonly name: string = 'ConnectionError';
}

/**
 * No whole answer arrived in time; `code` is `timeout`. Whether the server has done its work is not known: a `create` is
 * safe to repeat with the same `idempotencyKey`.
 */
export class RequestTimeoutError extends ConnectionError {
  override readonly name = 'RequestTimeoutError';
  readonly method: string;
  /** The URL's path, such as `/v1/jobs`. */
  readonly path: string;
  /** The limit that was reached: the call's own `timeoutMs`, or that of the client for one attempt. */
  readonly timeoutMs: number;

  constructor(request: { readonly method: string; readonly url: string }, timeoutMs: number, cause?: unknown) {
    const method = request.method.toUpperCase();
    const { origin, pathname } = new URL(request.url);
    super('timeout', `${origin} did not answer ${method} ${pathname} within ${timeoutMs / 1000} s`, { cause });
    this.method = method;
    this.path = pathname;
    this.timeoutMs = timeoutMs;
  }
}

/** The job ended without a model. `code` is the task's `error.code`, e.g. `no_foreground`. */
export class JobFailedError extends Gen3dError {
  override readonly name = 'JobFailedError';

  constructor(readonly task: Task) {
    const { task_id, status, error } = task;
    super(
      error?.code ?? 'job_failed',
      `Job ${task_id} ${status === 'CANCELED' ? 'was canceled' : 'failed'}${error ? `: ${error.message}` : ''}`,
    );
  }
}

/** The caller's `timeoutMs` is over; the job goes on. `task` is its last known state. */
export class WaitTimeoutError extends Gen3dError {
  override readonly name = 'WaitTimeoutError';

  constructor(
    readonly jobId: string,
    readonly task: Task | undefined,
    timeoutMs: number,
  ) {
    super(
      'wait_timeout',
      `Job ${jobId} was not finished after ${timeoutMs} ms${task ? ` (${task.status}, ${task.progress} %)` : ''}. It goes on: wait for it again, or retrieve it later`,
    );
  }
}
