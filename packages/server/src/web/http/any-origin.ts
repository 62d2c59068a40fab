import type { RequestHandler } from 'express';

export interface Openness {
  /** Methods that a page may use. */
  methods: readonly string[];
  /** Request headers that a page may send, beyond those that need no permission. */
  requestHeaders: readonly string[];
  /** Response headers that a page may read, beyond those that need no permission. */
  responseHeaders: readonly string[];
}

/**
 * CORS for the pages of every origin, without credentials: no cookie means anything here, so a page can do no more than
 * the key that it was given. A preflight carries no key by its nature and is answered here; any other OPTIONS goes on.
 *
 * Source: Fetch Standard, 3.3 (CORS protocol).
 */
export function anyOrigin({ methods, requestHeaders, responseHeaders }: Openness): RequestHandler {
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
