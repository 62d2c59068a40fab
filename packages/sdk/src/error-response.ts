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
  RedirectError,
  ServerError,
} from './errors.js';

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
  // These bodies do not have the standard shape (docs/contract.md sections 5.3 and 7).
  if (status === 403 || status === 401) {
    return new AuthenticationError('forbidden', 'The API key is missing, wrong or revoked', details);
  }
  // A proxy's HTML page is not JSON.
  const body: unknown = await response.json().catch(() => undefined);
  if (!isErrorBody(body)) return status === 429 ? rateLimitError(details) : errorOfStatus(url, details, notGen3d);
  const { code, message } = body.error;
  if (code === 'insufficient_balance' && hasAmounts(body)) {
    return new InsufficientBalanceError(body.balance_usd, body.min_balance_usd, message, details);
  }
  if (code === 'not_configured') return new NotConfiguredError(code, message, details);
  if (code === 'not_found') return new NotFoundError(code, message, details);
  if (status === 429) return new RateLimitError(code, message, details);
  if (status >= 500) return new ServerError(code, message, details);
  return new InvalidRequestError(code, message, details);
}

/** Converts a response to the download of a file, which needs no API key and may be on another kind of server. */
export const fileError = (response: Response, url: string): Gen3dError =>
  errorOfStatus(url, detailsOf(response), "Check that the server's assets still contain this file, and are public");

/** Creates the error for a response of status 2xx whose body is not one of the API. */
export function invalidResponse(response: Response, url: string, cause?: unknown): ServerError {
  const message = `${url} responded with status ${response.status}. ${notGen3d}`;
  return new ServerError('invalid_response', message, { ...detailsOf(response), cause });
}

const isErrorBody = having<ErrorBody>({ error: having({ code: 'string', message: 'string' }) });
const hasAmounts = having<InsufficientBalanceBody>({ balance_usd: 'number', min_balance_usd: 'number' });

const detailsOf = (response: Response) => ({
  status: response.status,
  requestId: response.headers.get('x-request-id') ?? undefined,
  retryAfterMs: retryAfterMs(response.headers, Date.now()),
});
type Details = ReturnType<typeof detailsOf>;

function rateLimitError(details: Details): RateLimitError {
  const when = details.retryAfterMs ? `in ${Math.ceil(details.retryAfterMs / 1_000)} s` : 'later';
  return new RateLimitError('rate_limited', `Too many requests or unfinished jobs. Try again ${when}`, details);
}

const notGen3d = 'This is not a response from a gen3d server. Check the base URL';

/** Explains the statuses that proxies in front of a server respond with, and says what to do. */
const problems: Readonly<Record<number, string>> = {
  // The limit of gen3d's own server is in docs/contract.md.
  413: 'A proxy refuses requests of this size. Raise its limit to 8 MiB (in nginx: client_max_body_size 8m), or send a smaller image',
  502: 'A proxy does not reach the gen3d server behind it. Check that the server runs, or wait until it has started',
  503: 'A proxy says that the gen3d server behind it is not available. Try again later',
  504: 'A proxy waited too long for the gen3d server behind it. Try again, or raise the time limit of the proxy',
};

/** Creates the error for a response without an error of the API. @param advice for a status that no proxy sends */
function errorOfStatus(url: string, details: Details, advice: string): Gen3dError {
  const { status } = details;
  const problem = problems[status] ?? (status >= 500 ? 'Try again later' : advice);
  const message = `${url} responded with status ${status}. ${problem}`;
  if (status === 429) return new RateLimitError('rate_limited', message, details);
  if (status >= 500) return new ServerError('internal_error', message, details);
  if (status === 404) return new NotFoundError('not_found', message, details);
  return new Gen3dError('invalid_response', message, details);
}

/**
 * Converts a redirect of an API request, which this client does not follow: `fetch` would drop the API key on the way
 * to another host, and turn a POST into a GET.
 *
 * @param location the response's `Location`. Browsers do not reveal it
 */
function redirectError(url: string, location: string | null, details: Details): RedirectError {
  const from = new URL(url);
  const to = location && URL.canParse(location, url) ? new URL(location, url) : undefined;
  const path = from.pathname + from.search;
  if (to && to.href !== from.href && to.href.endsWith(path) && /^https?:$/.test(to.protocol)) {
    const baseUrl = to.href.slice(0, -path.length);
    const message = `${from.origin} redirects to ${baseUrl}. Use ${baseUrl} as the base URL`;
    return new RedirectError('redirected', message, details);
  }
  const target = to ? `${to.origin}${to.pathname}` : 'another address';
  const message =
    `${from.origin}${from.pathname} redirects to ${target}. Use the address of the gen3d server itself as the base URL. ` +
    'If a proxy or a sign-in page is in front of the server, its API must be reachable without redirects';
  return new RedirectError('redirected', message, details);
}

/** Converts `Retry-After`, in seconds or as a date, to milliseconds. Undefined if it is missing or invalid. */
export function retryAfterMs(headers: Headers, now: number): number | undefined {
  const value = headers.get('retry-after')?.trim();
  if (!value) return undefined;
  const ms = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now;
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
