import { quoted } from '@gen3d/schema';
import type { Request, RequestHandler } from 'express';
import { isLoopback } from '../../base/net/address.js';
import type { Config } from '../../config.js';
import { HttpError } from '../answers/responses.js';

/**
 * Refuses HTTP/1.1 requests without a Host, and all requests with several (RFC 9112, 3.2), because a proxy may use
 * a different one than Node does. Node's own check sends an empty body, and ignores all but the first Host.
 */
export const requireHost: RequestHandler = ({ httpVersion, rawHeaders }, _response, next) => {
  // Names and values alternate. `headersDistinct` would copy all headers of each request.
  const hosts = rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === 'host').length;
  if (hosts === 1 || (hosts === 0 && httpVersion === '1.0')) return next();
  const problem = hosts === 0 ? 'The Host header is missing' : 'The request has several Host headers';
  throw new HttpError(400, 'invalid_request', problem, { connection: 'close' });
};

/** Returns the host in a Host header, as URLs write it, without the port. Undefined if it is not a valid host. */
const hostnameOf = (header: string): string | undefined =>
  URL.canParse(`http://${header}`) ? new URL(`http://${header}`).hostname : undefined;

/** Whether a request target has no host of its own, unlike `http://host/path` (RFC 9112, 3.2). */
const hasNoHost = (target: string) => /^[/*]/.test(target);

/** Returns the host that a request is for. Undefined if it is invalid, or the target names another than the header. */
function requestedHost({
  originalUrl,
  headers: { host },
}: Pick<Request, 'originalUrl' | 'headers'>): string | undefined {
  const named = host === undefined ? undefined : hostnameOf(host);
  if (hasNoHost(originalUrl)) return named;
  const target = URL.canParse(originalUrl) ? new URL(originalUrl).hostname : undefined;
  return host === undefined || target === named ? target : undefined;
}

/**
 * Refuses requests for a host other than the server's own names, if the server listens on loopback. Otherwise a web
 * page could point its own name at 127.0.0.1 (DNS rebinding) and, through a browser on this machine, read everything
 * that needs no key. On other addresses, a server has names that it does not know, and accepts all of them, unless
 * `--allowed-host` lists them.
 */
export function ownHostsOnly({
  host,
  publicUrl,
  assetsUrl,
  allowedHost,
}: Pick<Config, 'host' | 'publicUrl' | 'assetsUrl' | 'allowedHost'>): RequestHandler {
  const acceptsAll = !isLoopback(host) && allowedHost === undefined;
  const configured = [publicUrl, assetsUrl].flatMap((url) => (url === undefined ? [] : [new URL(url).hostname]));
  const bound = hostnameOf(host.includes(':') ? `[${host}]` : host);
  const allowed = new Set<string | undefined>(['localhost', '127.0.0.1', '[::1]', bound, ...configured]);
  for (const name of allowedHost ?? []) allowed.add(hostnameOf(name));
  return (request, _response, next) => {
    const { host } = request.headers;
    // HTTP/1.0 requires no Host, and browsers do not use it. For most requests, this check saves parsing a URL.
    const isPlain = acceptsAll || host === undefined || allowed.has(host.replace(/:\d{1,5}$/, ''));
    if (isPlain && hasNoHost(request.originalUrl)) return next();
    const requested = requestedHost(request);
    if (requested !== undefined && (acceptsAll || allowed.has(requested))) return next();
    throw new HttpError(
      421,
      'invalid_request',
      `This server does not accept the host name "${quoted(host ?? request.originalUrl)}". If a proxy or your own DNS name leads here, start the server with --public-url or --allowed-host`,
    );
  };
}
