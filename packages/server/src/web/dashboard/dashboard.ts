import { type RequestHandler, Router } from 'express';
import type { Config } from '../../config.js';
import { HttpError, noStore, routeNotFound } from '../answers/responses.js';
import { requestLimit } from '../guards/rate-limit.js';
import { balanceRoutes } from '../routes/balance.js';
import { accountEventRoutes } from '../routes/events.js';
import { galleryRoutes } from '../routes/gallery.js';
import { jobRoutes } from '../routes/jobs.js';
import type { Services } from '../routes/services.js';
import { webhookEndpointRoutes } from '../routes/webhook-endpoint.js';
import { keyRoutes, ledgerRoutes, quotaRoutes } from './account-routes.js';
import { auditRoutes } from './audit-routes.js';
import { bundleRoutes } from './bundle-routes.js';
import { eventRoutes } from './event-routes.js';
import { jobDetailRoutes } from './job-detail-routes.js';
import { openJobRoutes, operatorPasswordRoutes, operatorRoutes } from './operator-routes.js';
import { pageRoutes } from './pages.js';
import { actForAccount, identityOf, requireOperator, requireSession, sessionRoutes } from './session-routes.js';

/**
 * Serves the dashboard: its pages, and its routes below `/dashboard/api`. Those for jobs, balance and webhook endpoint
 * are the routes of `/v1`, with a session instead of a key.
 */
export function dashboard(services: Services): Router {
  // A separate bucket, so that the polling of open pages does not count toward the limit of programs.
  const limit = requestLimit(services.db, 'dashboard', services.config.rateLimit);
  const api = Router();
  api.use(noStore);
  api.use(sameOriginOnly(services.config));
  api.use('/session', sessionRoutes(services, limit));
  api.use(requireSession(services));
  api.use(async (_request, response, next) => {
    const identity = identityOf(response);
    if (await limit(response, identity.role === 'member' ? identity.accountId : identity.role)) next();
  });
  api.use('/operator/bundles', requireOperator, bundleRoutes(services));
  api.use('/operator/audit', requireOperator, auditRoutes(services));
  api.use('/operator/jobs', requireOperator, openJobRoutes(services));
  api.use('/operator', requireOperator, operatorRoutes(services));
  api.use('/operator-password', requireOperator, operatorPasswordRoutes(services));
  api.use(actForAccount(services));
  api.use('/jobs', jobRoutes(services));
  api.use('/gallery', galleryRoutes(services));
  api.use('/job-details', jobDetailRoutes(services));
  api.use('/balance', balanceRoutes(services));
  api.use('/ledger', ledgerRoutes(services));
  api.use('/quotas', quotaRoutes(services));
  api.use('/keys', keyRoutes(services));
  api.use('/webhook-endpoint', webhookEndpointRoutes(services));
  api.use('/events', eventRoutes(services));
  api.use('/stream', accountEventRoutes(services));
  api.use(routeNotFound);

  const router = Router();
  router.use('/dashboard/api', api);
  router.use(pageRoutes(services));
  return router;
}

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
