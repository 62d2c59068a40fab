import { forbiddenBody, type InsufficientBalanceBody, limits, tooManyRequestsBody } from '@gen3d/schema';
import type { ErrorRequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { AdminError, isDiskFull, isStorageUnavailable } from '../../base/errors.js';
import { toUsd } from '../../base/money.js';
import { AccountDeletedError, QuotaError } from '../../data/accounts/quotas.js';
import { isUnavailable } from '../../data/db/unavailable.js';
import { InsufficientBalanceError, TooManyOpenJobsError } from '../../data/jobs/create.js';
import { HttpError, sendJson, TooManyRequestsError } from './responses.js';

/** Turns every error that a handler throws into a response. */
export function errorHandler(log: Logger): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    if (response.headersSent) return next(error);
    if (error instanceof InsufficientBalanceError) return void sendJson(response, 402, insufficientBalance(error));
    if (error instanceof AccountDeletedError) return void sendJson(response, 403, forbiddenBody);
    const retryAfterSeconds = retryAfterOf(error);
    if (retryAfterSeconds !== undefined) {
      response.set('retry-after', String(Math.ceil(retryAfterSeconds)));
      return void sendJson(response, 429, tooManyRequestsBody);
    }
    const refusal = refusalOf(error);
    if (refusal) return void send(response, refusal);
    const { requestId, traceId } = response.locals;
    // An unavailable database has its own log line, and the request is logged with its 503.
    if (!isUnavailable(error)) log.error({ err: error, requestId, trace_id: traceId }, 'request failed');
    send(response, failure(error));
  };
}

/** Returns when to try again, for errors that are a 429 in the contract's shape. */
function retryAfterOf(error: unknown): number | undefined {
  if (error instanceof TooManyRequestsError) return error.retryAfterSeconds;
  // A client that polls as rarely as the contract suggests learns of a finished job after this time.
  return error instanceof TooManyOpenJobsError ? limits.pollMs.max / 1_000 : undefined;
}

function insufficientBalance({ balance, message }: InsufficientBalanceError): InsufficientBalanceBody {
  return {
    error: { code: 'insufficient_balance', message },
    balance_usd: toUsd(balance),
    min_balance_usd: limits.minBalanceUsd,
  };
}

/** Returns the response if the error means that the request cannot be served. */
function refusalOf(error: unknown): HttpError | undefined {
  if (error instanceof HttpError) return error;
  if (error instanceof QuotaError) {
    return new HttpError(429, 'quota_exceeded', error.message, { 'retry-after': String(error.retryAfterSeconds) });
  }
  if (error instanceof AdminError) return new HttpError(409, 'invalid_request', error.message);
  // Express throws errors with a status for invalid requests, such as a path that cannot be decoded.
  if (typeof error !== 'object' || error === null) return undefined;
  const { status } = error as { status?: unknown };
  if (typeof status !== 'number' || status < 400 || status > 499) return undefined;
  return new HttpError(400, 'invalid_request', 'The request is malformed');
}

/** Returns a 503 for temporary failures, so that clients retry, and a 500 otherwise. */
function failure(error: unknown): HttpError {
  const unavailable = (message: string, retryAfter: string) =>
    new HttpError(503, 'internal_error', `${message}; try again later`, { 'retry-after': retryAfter });
  if (isDiskFull(error)) return unavailable('The server has no space left', '60');
  if (isUnavailable(error)) return unavailable('The database is temporarily unavailable', '5');
  if (isStorageUnavailable(error)) return unavailable('The image cannot be stored at the moment', '5');
  return new HttpError(500, 'internal_error', 'Internal error; try again with backoff');
}

function send(response: Response, { status, code, message, headers }: HttpError): void {
  response.set(headers);
  sendJson(response, status, { error: { code, message } });
}
