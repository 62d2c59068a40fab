import { type RequestHandler, Router } from 'express';
import type { Config } from '../../config.js';
import { HttpError, noStore } from '../answers/responses.js';
import type { RequestLimit } from '../guards/rate-limit.js';
import { admit } from '../guards/shares.js';
import type { Guards, RouteGroup } from '../mount.js';
import { balanceRoutes } from '../routes/balance.js';
import { galleryRoutes } from '../routes/gallery.js';
import { jobRoutes } from '../routes/jobs.js';
import type { Services } from '../routes/services.js';
import { webhookEndpointRoutes } from '../routes/webhook-endpoint.js';
import { keyRoutes, ledgerRoutes } from './account-routes.js';
import { eventRoutes } from './event-routes.js';
import { jobDetailRoutes } from './job-detail-routes.js';
import { operatorRoutes } from './operator-routes.js';
import { actForAccount, identityOf, requireOperator, requireSession, sessionRoutes } from './session-routes.js';

/** The caller of a route below `/dashboard/api`: anyone with a browser, a session, the operator, or an account. */
export type DashboardCaller = 'visitor' | 'session' | 'operator' | 'account';

/** The guards of requests below `/dashboard/api`, by their caller. `strangerLimits` apply without a session. */
export function dashboardGuards(
  services: Pick<Services, 'config' | 'db' | 'dashboardTokens' | 'shares'>,
  limit: RequestLimit,
  strangerLimits: readonly RequestHandler[],
): Record<DashboardCaller, Guards> {
  const ownPagesOnly = [noStore, sameOriginOnly(services.config)];
  const visitor = [...strangerLimits, ...ownPagesOnly];
  const session: RequestHandler[] = [
    ...ownPagesOnly,
    requireSession(services),
    async (_request, response, next) => {
      const identity = identityOf(response);
      const holder = identity.role === 'member' ? identity.accountId : identity.role;
      await admit(services.shares.requests, holder, limit, response);
      next();
    },
  ];
  return {
    visitor: { handlers: visitor, areExclusive: true },
    session: { handlers: session, areExclusive: true },
    operator: { handlers: [...session, requireOperator], areExclusive: true },
    account: { handlers: [...session, actForAccount(services)], areExclusive: true },
  };
}

/**
 * Lists the routes below `/dashboard/api`. Those for jobs, balance and webhook endpoint are the routes of `/v1`, with a
 * session instead of a key.
 */
export function dashboardRoutes(services: Services, limit: RequestLimit): RouteGroup<DashboardCaller>[] {
  const api = '/dashboard/api';
  return [
    { at: `${api}/session`, who: 'visitor', routes: sessionRoutes(services, limit) },
    { at: `${api}/operator`, who: 'operator', routes: operatorRoutes(services) },
    { at: `${api}/jobs`, who: 'account', routes: jobRoutes(services) },
    { at: `${api}/gallery`, who: 'account', routes: galleryRoutes(services) },
    { at: `${api}/job-details`, who: 'account', routes: jobDetailRoutes(services) },
    { at: `${api}/balance`, who: 'account', routes: balanceRoutes(services) },
    { at: `${api}/ledger`, who: 'account', routes: ledgerRoutes(services) },
    { at: `${api}/keys`, who: 'account', routes: keyRoutes(services) },
    { at: `${api}/webhook-endpoint`, who: 'account', routes: webhookEndpointRoutes(services) },
    { at: `${api}/events`, who: 'account', routes: eventRoutes(services) },
    { at: api, who: 'account', routes: Router() },
  ];
}

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * Refuses requests that change state unless they come from this server's own pages, even with a valid cookie. Browsers
 * send the origin of a request as Sec-Fetch-Site, which pages cannot set. They omit it over plain http to another
 * machine; then Origin must match the requested host. A client that sends neither is not a browser and should use the
 * API.
 *
 * Source: OWASP Cross-Site Request Forgery Prevention, "Fetch Metadata headers" and "Verifying origin with standard
 * headers".
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
