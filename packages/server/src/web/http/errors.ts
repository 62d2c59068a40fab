import {
  type ErrorBody,
  type ErrorCode,
  type InsufficientBalanceBody,
  limits,
  tooManyRequestsBody,
} from '@gen3d/schema';
import type { ErrorRequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import type { z } from 'zod';
import { isDiskFull } from '../../base/disk-full.js';
import { toUsd } from '../../base/money.js';
import { isUnavailable } from '../../data/db/unavailable.js';
import { InsufficientBalanceError, TooManyOpenJobsError } from '../../data/jobs/create.js';
import { isStorageUnavailable } from '../../data/s3/unavailable.js';
import { sendJson } from './send-json.js';

/** A refusal in the contract's standard shape. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  constructor(
    readonly status: number,
    readonly code: ErrorCode,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

/** `input.image_urls[0]`, as a person would write it. */
const fieldOf = (path: readonly PropertyKey[]) =>
  path.reduce<string>(
    (field, key) => (typeof key === 'number' ? `${field}[${key}]` : field ? `${field}.${String(key)}` : String(key)),
    '',
  );

/** 400 for what a schema refused; the message names every field that is wrong. */
export function invalidRequest(error: z.ZodError, whole = 'body'): HttpError {
  const problems = error.issues.map(({ path, message }) => `${fieldOf(path) || whole}: ${message}`);
  return new HttpError(400, 'invalid_request', problems.slice(0, 5).join('; '));
}

const standard = (code: ErrorCode, message: string): ErrorBody => ({ error: { code, message } });

function insufficientBalance({ balance, message }: InsufficientBalanceError): InsufficientBalanceBody {
  return {
    ...standard('insufficient_balance', message),
    balance_usd: toUsd(balance),
    min_balance_usd: limits.minBalanceUsd,
  };
}

/** An error of Express that is the request's fault, such as a path that cannot be decoded. */
function requestFault(error: unknown): HttpError | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { status } = error as { status?: unknown };
  if (typeof status !== 'number' || status < 400 || status > 499) return undefined;
  return new HttpError(400, 'invalid_request', 'The request is malformed');
}

/** The one place where what was thrown becomes what is sent. */
export function errorHandler(log: Logger): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    if (response.headersSent) return next(error);
    if (error instanceof InsufficientBalanceError) return void sendJson(response, 402, insufficientBalance(error));
    if (error instanceof TooManyOpenJobsError) {
      // There is room when a job ends, which a client learns no sooner than by the contract's slowest polling.
      response.set('retry-after', String(limits.pollMs.max / 1_000));
      return void sendJson(response, 429, tooManyRequestsBody);
    }
    const refusal = error instanceof HttpError ? error : requestFault(error);
    if (refusal) return void send(response, refusal);
    const { requestId, traceId } = response.locals;
    // That the database is away has been logged, and the request is logged with its 503.
    if (!isUnavailable(error)) log.error({ err: error, requestId, trace_id: traceId }, 'request failed');
    send(response, failure(error));
  };
}

/** What is nobody's fault and passes is 503, so that a client knows to come back. */
function failure(error: unknown): HttpError {
  if (isDiskFull(error)) {
    return new HttpError(503, 'internal_error', 'The server has no space left; try again later', {
      'retry-after': '60',
    });
  }
  if (isUnavailable(error)) {
    return new HttpError(503, 'internal_error', 'The database is temporarily unavailable; try again later', {
      'retry-after': '5',
    });
  }
  if (isStorageUnavailable(error)) {
    return new HttpError(503, 'internal_error', 'The image cannot be stored at the moment; try again later', {
      'retry-after': '5',
    });
  }
  return new HttpError(500, 'internal_error', 'Something failed on the service side; try again with backoff');
}

function send(response: Response, { status, code, message, headers }: HttpError): void {
  response.set(headers);
  sendJson(response, status, standard(code, message));
}
