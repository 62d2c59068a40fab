import type { ErrorBody, InsufficientBalanceBody } from '@gen3d/schema';
import { having } from '@gen3d/schema/rules';
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
import { foreignResponse, redirectError } from './foreign-response.js';

/**
 * Converts a response with an error status to an error. `error.code` in the body selects the class; without a code, the
 * status does.
 */
export async function errorFrom(response: Response, url: string): Promise<Gen3dError> {
  const details = detailsOf(response);
  const { status } = details;
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    return redirectError(url, response.headers.get('location'), details);
  }
  // A proxy's HTML page is not JSON.
  const body: unknown = await response.json().catch(() => undefined);

  // These bodies do not have the standard shape (docs/contract.md sections 5.3 and 7).
  if (status === 403 || status === 401) {
    return new AuthenticationError('forbidden', 'The API key is missing, wrong or revoked', details);
  }
  if (status === 429) {
    const { retryAfterMs: pauseMs } = details;
    const when = !pauseMs ? 'later' : `in ${Math.ceil(pauseMs / 1_000)} s`;
    if (isErrorBody(body)) return new RateLimitError(body.error.code, body.error.message, details);
    return new RateLimitError('rate_limited', `Too many requests or unfinished jobs. Try again ${when}`, details);
  }
  if (!isErrorBody(body)) return foreignResponse(url, details);
  const { code, message } = body.error;
  if (code === 'insufficient_balance' && hasAmounts(body)) {
    return new InsufficientBalanceError(body.balance_usd, body.min_balance_usd, message, details);
  }
  if (code === 'not_configured') return new NotConfiguredError(code, message, details);
  if (code === 'not_found') return new NotFoundError(code, message, details);
  if (status >= 500) return new ServerError(code, message, details);
  return new InvalidRequestError(code, message, details);
}

/** Converts a response to the download of a file, which needs no API key and may be on another kind of server. */
export function fileError(response: Response, url: string): Gen3dError {
  const details = detailsOf(response);
  const { status } = details;
  if (status === 429)
    return new RateLimitError('rate_limited', `${url} was requested too often. Try again later`, details);
  if (status >= 500) return foreignResponse(url, details);
  const message = `${url} responded with status ${status}. Check that the server's assets still contain this file, and are public`;
  return status === 404
    ? new NotFoundError('not_found', message, details)
    : new Gen3dError('invalid_response', message, details);
}

const isErrorBody = having<ErrorBody>({ error: having({ code: 'string', message: 'string' }) });
const hasAmounts = having<InsufficientBalanceBody>({ balance_usd: 'number', min_balance_usd: 'number' });

const detailsOf = (response: Response) => ({
  status: response.status,
  requestId: requestId(response),
  retryAfterMs: retryAfterMs(response.headers, Date.now()),
});

/** Identifies the request in the server's log. */
export const requestId = (response: Response): string | undefined => response.headers.get('x-request-id') ?? undefined;

/** Converts `Retry-After`, in seconds or as a date, to milliseconds. Undefined if it is missing or invalid. */
export function retryAfterMs(headers: Headers, now: number): number | undefined {
  const value = headers.get('retry-after')?.trim();
  if (!value) return undefined;
  const ms = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now;
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
