import { certificateProblem } from '@gen3d/schema/rules';
import {
  ConnectionError,
  Gen3dError,
  type Gen3dErrorDetails,
  NotFoundError,
  RedirectError,
  ServerError,
} from './errors.js';
import { codeOf, messageOf } from './realms.js';

// Says what it means if something between this client and the server responds, or if nothing does: a proxy, a sign-in
// page, another kind of server, TLS on one side only. All such sentences are here, each with what to do.

/** Explains the statuses that proxies respond with, and says what to do. */
const proxyProblems: Readonly<Record<number, string>> = {
  // The limit of gen3d's own server is in docs/contract.md.
  413: 'a proxy refuses requests of this size. Raise its limit to 8 MiB (in nginx: client_max_body_size 8m), or send a smaller image',
  502: 'a proxy does not reach the gen3d server behind it. Check that the server runs, or wait until it has started',
  503: 'a proxy says that the gen3d server behind it is not available. Try again later',
  504: 'a proxy waited too long for the gen3d server behind it. Try again, or raise the time limit of the proxy',
};

/** Converts a response without the body of an API error to an error. */
export function foreignResponse(url: string, details: Gen3dErrorDetails & { readonly status: number }): Gen3dError {
  const { status } = details;
  const problem = proxyProblems[status];
  const response = `${new URL(url).origin} responded with status ${status}`;
  if (status >= 500) return new ServerError('internal_error', problem ? `${response}: ${problem}` : response, details);
  if (problem) return new Gen3dError('invalid_response', `${response}: ${problem}`, details);
  const message = `${url} responded with status ${status}, but not as a gen3d server does. Check the base URL`;
  return status === 404
    ? new NotFoundError('not_found', message, details)
    : new Gen3dError('invalid_response', message, details);
}

/**
 * Converts a redirect of an API request, which this client does not follow: `fetch` would drop the API key on the way
 * to another host, and turn a POST into a GET.
 *
 * @param location the response's `Location`. Browsers do not reveal it
 */
export function redirectError(url: string, location: string | null, details: Gen3dErrorDetails): RedirectError {
  const refused = (message: string, baseUrl?: string) => new RedirectError(message, baseUrl, details);
  const from = new URL(url);
  const to = location && URL.canParse(location, url) ? new URL(location, url) : undefined;
  if (!to) return refused(`${from.origin} redirects to another address. Use that address as the base URL`);
  if (to.href === from.href)
    return refused(
      `${from.origin} redirects requests to the same address. Check the rules of the proxy in front of it`,
    );
  const path = from.pathname + from.search;
  if (to.href.endsWith(path) && /^https?:$/.test(to.protocol)) {
    const baseUrl = to.href.slice(0, -path.length);
    return refused(`${from.origin} redirects to ${baseUrl}. Use ${baseUrl} as the base URL`, baseUrl);
  }
  return refused(
    `${from.origin}${from.pathname} redirects to ${to.origin}${to.pathname}, which is not this API. Check the base URL. ` +
      'If a sign-in page is in front of the server, its API must be reachable without it',
  );
}

/** Converts the failure of a request without a complete response. */
export function connectionError(url: string, error: unknown, hasHeaders = false): Gen3dError {
  if (error instanceof Gen3dError) return error;
  const cause = innermost(error);
  return new ConnectionError('connection_failed', connectionProblem(new URL(url), error, cause, hasHeaders), {
    cause: error,
  });
}

function connectionProblem({ origin, protocol, host }: URL, error: unknown, cause: unknown, hasHeaders: boolean) {
  // For a 407, undici's innermost error has no message.
  const text = messageOf(cause) || messageOf(error);
  if (hasHeaders) return `The connection to ${origin} broke during its response: ${text}. Try again`;
  const code = codeOf(cause);
  const certificate = certificateProblem(code);
  if (certificate) return `${origin} cannot be trusted: ${certificate}`;
  if (protocol === 'https:' && speaksNoTls.test(`${code} ${text}`))
    return `The server at ${host} speaks http, not https. Use http://${host} as the base URL`;
  if (protocol === 'http:' && speaksNoHttp.test(`${code} ${text}`))
    return `The server at ${host} does not speak http. If it uses TLS, use https://${host} as the base URL`;
  return `Cannot reach ${origin}: ${text}`;
}

// The codes of OpenSSL in Node, then the texts of other runtimes.
const speaksNoTls =
  /ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST)|wrong.version.number|InvalidContentType/i;
const speaksNoHttp = /HPE_INVALID_CONSTANT|Expected HTTP/i;

/** Returns the innermost error: undici wraps the actual one in one or two others, such as "fetch failed". */
function innermost(error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return error;
  if ('cause' in error && typeof error.cause === 'object' && error.cause !== null) return innermost(error.cause);
  if ('errors' in error && Array.isArray(error.errors) && error.errors.length > 0) return innermost(error.errors[0]);
  return error;
}
