import type { RequestHandler } from 'express';

export interface CorsOptions {
  methods: readonly string[];
  /** Request headers that a page may send, besides those that are always allowed. */
  requestHeaders: readonly string[];
  /** Response headers that a page may read, besides those that are always readable. */
  responseHeaders: readonly string[];
}

/**
 * Allows pages of every origin, without credentials: cookies have no meaning here, so a page can do only what its key
 * allows. Responds to preflights, which cannot carry a key. Other OPTIONS requests need one like any method.
 *
 * Source: Fetch Standard, 3.3 (CORS protocol).
 */
export function cors({ methods, requestHeaders, responseHeaders }: CorsOptions): RequestHandler {
  const exposed = responseHeaders.join(', ');
  const preflight = {
    'access-control-allow-methods': methods.join(', '),
    'access-control-allow-headers': requestHeaders.join(', '),
    'access-control-max-age': '86400',
  };
  return (request, response, next) => {
    response.setHeader('access-control-allow-origin', '*');
    if (request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined) {
      return void response.set(preflight).status(204).end();
    }
    response.setHeader('access-control-expose-headers', exposed);
    next();
  };
}
