import type { RequestHandler } from 'express';
import type { Config } from '../../config.js';
import { HttpError } from '../http/responses.js';

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * Refuses requests that change state unless they come from this server's own pages, even with a valid cookie. Browsers
 * send the origin of a request as Sec-Fetch-Site, which pages cannot set. They omit it over plain http to another machine;
 * then Origin must match the requested host. A client that sends neither is not a browser and should use the API.
 *
 * Source: OWASP Cross-Site Request Forgery Prevention, "Fetch Metadata headers" and "Verifying origin with standard headers".
 */
export function sameOriginOnly({ publicUrl }: Config): RequestHandler {
  const publicOrigin = publicUrl && new URL(publicUrl).origin;
  return (request, _response, next) => {
    if (safeMethods.has(request.method)) return next();
    const { origin, host } = request.headers;
    const site = request.headers['sec-fetch-site'];
    const isSameOrigin =
      site === undefined
        ? origin !== undefined && (origin === publicOrigin || (URL.canParse(origin) && new URL(origin).host === host))
        : site === 'same-origin';
    if (isSameOrigin) return next();
    throw new HttpError(
      403,
      'cross_origin',
      'Only the pages of the dashboard may send this request. Programs use /v1 with an API key',
    );
  };
}
