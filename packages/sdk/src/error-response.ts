import type { ErrorBody, InsufficientBalanceBody } from '@gen3d/schema';
import {
  AuthenticationError,
  Gen3dError,
  InsufficientBalanceError,
  InvalidRequestError,
  NotConfiguredError,
  NotFoundError,
  RateLimitError,
  ServerError,
} from './errors.js';
import { isRecord } from './response-bodies.js';

/** The error a refused request becomes: by `error.code` where the body has one, by HTTP status where it has none. */
export async function errorFrom(response: Response, url: string): Promise<Gen3dError> {
  const { status } = response;
  const details = {
    status,
    requestId: requestId(response),
    retryAfterMs: retryAfterMs(response.headers, Date.now()),
  };
  const body = await parsed(response);

  // The gateway's body, not the standard shape; any 403 is about the key (API.md section 5).
  if (status === 403 || status === 401) {
    return new AuthenticationError('forbidden', 'The API key was refused: it is wrong, revoked or missing', details);
  }
  if (status === 429)
    return new RateLimitError(
      'rate_limited',
      'Too many requests, or too many unfinished jobs: try again later',
      details,
    );
  if (!isErrorBody(body)) {
    const { origin } = new URL(url);
    if (status >= 500) return new ServerError('internal_error', `${origin} answered ${status}`, details);
    const message = `${url} answered ${status}, and not as a gen3d server does: is the base URL right?`;
    return status === 404
      ? new NotFoundError('not_found', message, details)
      : new Gen3dError('invalid_response', message, details);
  }

  const { code, message } = body.error;
  if (isInsufficientBalance(body)) {
    return new InsufficientBalanceError(body.balance_usd, body.min_balance_usd, message, details);
  }
  if (code === 'not_configured') return new NotConfiguredError(code, message, details);
  if (code === 'not_found') return new NotFoundError(code, message, details);
  if (status >= 500) return new ServerError(code, message, details);
  return new InvalidRequestError(code, message, details);
}

async function parsed(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch {
    return undefined; // A proxy's HTML page: the status is all it tells.
  }
}

const isErrorBody = (body: unknown): body is ErrorBody =>
  isRecord(body) &&
  isRecord(body.error) &&
  typeof body.error.code === 'string' &&
  typeof body.error.message === 'string';

const isInsufficientBalance = (body: ErrorBody): body is InsufficientBalanceBody =>
  body.error.code === 'insufficient_balance' &&
  'balance_usd' in body &&
  typeof body.balance_usd === 'number' &&
  'min_balance_usd' in body &&
  typeof body.min_balance_usd === 'number';

/** What the server's log calls this request. */
export const requestId = (response: Response): string | undefined => response.headers.get('x-request-id') ?? undefined;

/** `Retry-After` in milliseconds, whether it gives seconds or a date; undefined where there is none that makes sense. */
export function retryAfterMs(headers: Headers, now: number): number | undefined {
  const value = headers.get('retry-after')?.trim();
  if (!value) return undefined;
  const ms = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now;
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
