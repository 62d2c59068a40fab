import {
  ConnectionError,
  Gen3dError,
  type Gen3dErrorDetails,
  NotFoundError,
  RedirectError,
  ServerError,
} from './errors.js';
import { parseUrl } from './parse-url.js';
import { codeOf, messageOf } from './realms.js';

// Says what it means if something between this client and the server responds, or if nothing does: a proxy, a sign-in
// page, another kind of server, TLS on one side only. All such sentences are here, each with what to do.

/** The request that the sentences are about. */
export interface RequestFacts {
  readonly url: string;
  /** The size of the request's body in bytes. */
  readonly bodyBytes?: number | undefined;
}

/** The limit of gen3d's own server (docs/contract.md), which a proxy in front must allow. */
const neededLimit = '8 MiB';

/** Converts a response without the body of an API error to an error. */
export function foreignResponse(
  { url, bodyBytes }: RequestFacts,
  details: Gen3dErrorDetails & { readonly status: number },
): Gen3dError {
  const { status } = details;
  const { origin } = new URL(url);
  if (status === 413) {
    const size = bodyBytes === undefined ? 'this size' : `${(bodyBytes / 1024 ** 2).toFixed(1)} MiB`;
    const remedy = `Raise its limit to ${neededLimit} (in nginx: client_max_body_size 8m), or send a smaller image`;
    return new Gen3dError(
      'invalid_response',
      `A proxy at ${origin} refuses requests of ${size} (413). ${remedy}`,
      details,
    );
  }
  if (status >= 500) {
    const meaning = proxyFailures[status] ?? (status >= 521 && status <= 527 ? proxyFailures[502] : undefined);
    return new ServerError(
      'internal_error',
      `${origin} responded with status ${status}${meaning === undefined ? '' : `: ${meaning}`}`,
      details,
    );
  }
  if (status === 431) {
    const problem = `A proxy at ${origin} refuses the headers of the request as too large (431)`;
    return new Gen3dError('invalid_response', `${problem}. Raise its limit, or use a shorter label`, details);
  }
  const message = `${url} responded with status ${status}, but not as a gen3d server does. Check the base URL`;
  return status === 404
    ? new NotFoundError('not_found', message, details)
    : new Gen3dError('invalid_response', message, details);
}

/** Explains statuses of proxies. Cloudflare's 521 to 527 mean the same as 502, except 524. */
const proxyFailures: Readonly<Record<number, string>> = {
  502: 'a proxy does not reach the gen3d server behind it. Check that the server runs, or wait until it has started',
  503: 'a proxy says that the gen3d server behind it is not available. Try again later',
  504: 'a proxy waited too long for the gen3d server behind it. Try again, or raise the time limit of the proxy',
  511: 'this network asks for a sign-in. Open any page in a browser, sign in, and try again',
  524: 'a proxy waited too long for the gen3d server behind it. Try again, or raise the time limit of the proxy',
};

/**
 * Converts a redirect of an API request, which this client does not follow: `fetch` would drop the API key on the way to
 * another host, and turn a POST into a GET.
 *
 * @param location the response's `Location`. Browsers do not reveal it
 */
export function redirectError(url: string, location: string | null, details: Gen3dErrorDetails): RedirectError {
  const from = new URL(url);
  const to = location ? parseUrl(location, url) : undefined;
  if (to === undefined) {
    return new RedirectError(
      `${from.origin} redirects to another address. Use that address as the base URL`,
      undefined,
      details,
    );
  }
  const path = `${from.pathname}${from.search}`;
  if (to.href === from.href) {
    const message = `${from.origin} redirects requests to the same address. Check the rules of the proxy in front of it`;
    return new RedirectError(message, undefined, details);
  }
  const isSamePath = `${to.pathname}${to.search}`.endsWith(path);
  if (isSamePath && /^https?:$/.test(to.protocol)) {
    const baseUrl = to.origin + `${to.pathname}${to.search}`.slice(0, -path.length);
    const message = `${from.origin} redirects to ${baseUrl}. Use ${baseUrl} as the base URL`;
    return new RedirectError(message, baseUrl, details);
  }
  const advice =
    'Check the base URL. If a sign-in page is in front of the server, its API must be reachable without it';
  return new RedirectError(
    `${from.origin}${from.pathname} redirects to ${to.origin}${to.pathname}, which is not this API. ${advice}`,
    undefined,
    details,
  );
}

/** Converts the failure of a request without a complete response. */
export function connectionError(url: string, error: unknown, hasHeaders = false): Gen3dError {
  if (error instanceof Gen3dError) return error;
  const { origin, protocol, host } = new URL(url);
  const cause = innermost(error);
  // For a 407, undici's innermost error has no message.
  const text = messageOf(cause) || messageOf(error);
  const clue = `${codeOf(cause)} ${text}`;
  const message = hasHeaders
    ? `The connection to ${origin} broke during its response: ${text}. Try again`
    : protocol === 'https:' && speaksNoTls.test(clue)
      ? `The server at ${host} speaks http, not https. Use http://${host} as the base URL`
      : protocol === 'http:' && speaksNoHttp.test(clue)
        ? `The server at ${host} does not speak http. If it uses TLS, use https://${host} as the base URL`
        : `Cannot reach ${origin}: ${text}`;
  return new ConnectionError('connection_failed', message, { cause: error });
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
