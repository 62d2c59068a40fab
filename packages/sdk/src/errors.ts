import type { ErrorCode, Task } from '@gen3d/schema';

/** `error.code`: a code of the API, of this client, or of a newer server. */
export type Gen3dErrorCode =
  | ErrorCode
  | 'forbidden'
  | 'rate_limited'
  | 'connection_failed'
  | 'redirected'
  | 'timeout'
  | 'invalid_response'
  | 'job_failed'
  | 'wait_timeout'
  | 'webhook_unverified'
  // Allows any string while editors still suggest the known codes.
  | (string & Record<never, never>);

export interface Gen3dErrorDetails {
  /** The HTTP status, if there was a response. */
  readonly status?: number | undefined;
  /** Identifies the request in the server's log. */
  readonly requestId?: string | undefined;
  /** How long the response asked the client to wait, from its `Retry-After` header. Undefined without that header. */
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/**
 * All errors of this client extend this class, with two exceptions: an aborted `signal` rejects with its own reason,
 * and a programming mistake, such as a webhook secret that is not a string, is a TypeError.
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

/** The API key is missing, wrong or revoked. */
export class AuthenticationError extends Gen3dError {
  override readonly name = 'AuthenticationError';
}

/** The request is invalid, or the image was rejected before it was sent. The message names the field. */
export class InvalidRequestError extends Gen3dError {
  override readonly name = 'InvalidRequestError';
}

/** The balance is below the minimum for a new job. Both amounts are in USD. */
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

/** The job does not exist, belongs to another account, or is older than 90 days. */
export class NotFoundError extends Gen3dError {
  override readonly name = 'NotFoundError';
}

/** The account has no webhook endpoint. */
export class NotConfiguredError extends Gen3dError {
  override readonly name = 'NotConfiguredError';
}

/** The client was still rate limited after all retries, or `retryAfterMs` is more than a minute. */
export class RateLimitError extends Gen3dError {
  override readonly name = 'RateLimitError';
}

/** The server still failed after all retries, or its response was invalid. */
export class ServerError extends Gen3dError {
  override readonly name = 'ServerError';
}

/** No complete response arrived: the server cannot be reached, or the connection broke. */
export class ConnectionError extends Gen3dError {
  override readonly name: string = 'ConnectionError';
}

/** The server redirects API requests, which this client does not follow. `code` is `redirected`. */
export class RedirectError extends ConnectionError {
  override readonly name = 'RedirectError';
}

/**
 * No complete response arrived in time. `code` is `timeout`. The server may have processed the request: `create` is
 * safe to repeat with the same `idempotencyKey`.
 */
export class RequestTimeoutError extends ConnectionError {
  override readonly name = 'RequestTimeoutError';
  readonly method: string;
  /** The path of the URL, such as `/v1/jobs`. */
  readonly path: string;
  /** The limit that was exceeded: the call's `timeoutMs`, or the client's `timeoutMs` for each attempt. */
  readonly timeoutMs: number;

  constructor(request: { readonly method: string; readonly url: string }, timeoutMs: number) {
    const method = request.method.toUpperCase();
    const { origin, pathname } = new URL(request.url);
    super('timeout', `${origin} did not respond to ${method} ${pathname} within ${timeoutMs / 1000} s`);
    this.method = method;
    this.path = pathname;
    this.timeoutMs = timeoutMs;
  }
}

/**
 * The job ended without a model. `code` is the task's `error.code`, such as `no_foreground`.
 *
 * @example
 * try {
 *   await gen3d.generate('mug.jpg');
 * } catch (error) {
 *   if (!(error instanceof JobFailedError) || error.code !== 'no_foreground') throw error;
 *   console.error('No object was found in the photo.');
 * }
 */
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

/** The `timeoutMs` of the call elapsed. The job continues. `task` is its last known state. */
export class WaitTimeoutError extends Gen3dError {
  override readonly name = 'WaitTimeoutError';

  constructor(
    readonly jobId: string,
    readonly task: Task | undefined,
  ) {
    const state = task ? ` (${task.status}, ${task.progress} %)` : '';
    const message = `Job ${jobId} did not finish in time${state}. It continues: wait again, or retrieve it later`;
    super('wait_timeout', message);
  }
}

/** Whether a later call may succeed: the server could not be reached, is unavailable, or refuses too many requests. */
export const isTemporary = (error: unknown): error is ConnectionError | RateLimitError | ServerError =>
  error instanceof ConnectionError || error instanceof RateLimitError || error instanceof ServerError;
