import type { RequestHandler } from 'express';
import type { Config } from '../../config.js';
import { refuse } from './refusal.js';

const harmless: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * Lets nothing change a state but this server's own pages, whatever cookie a request carries. Browsers tell where a request
 * comes from in Sec-Fetch-Site, which no page can set; over plain http to another machine they leave it out, and there
 * Origin must be the host that was asked. Who tells neither is no browser, and has the API.
 *
 * Source: OWASP Cross-Site Request Forgery Prevention, "Fetch Metadata headers" and "Verifying origin with standard headers".
 */
export function sameOriginOnly({ publicUrl }: Config): RequestHandler {
  const publicOrigin = publicUrl && new URL(publicUrl).origin;
  return (request, response, next) => {
    if (harmless.has(request.method)) return next();
    const { origin, host } = request.headers;
    const site = request.headers['sec-fetch-site'];
    const own =
      site === undefined
        ? origin !== undefined && (origin === publicOrigin || (URL.canParse(origin) && new URL(origin).host === host))
        : site === 'same-origin';
    if (own) return next();
    refuse(response, 403, 'cross_origin', 'Only the dashboard itself may do this. Programs use /v1 with an API key');
  };
}
