import { Router } from 'express';
import { balanceRoutes } from '../http/balance.js';
import { HttpError } from '../http/errors.js';
import { jobRoutes } from '../http/jobs.js';
import { limitRequests, requestLimit } from '../http/rate-limit.js';
import type { Services } from '../http/services.js';
import { webhookEndpointRoutes } from '../http/webhook-endpoint.js';
import { eventRoutes } from './event-routes.js';
import { jobDetailRoutes } from './job-detail-routes.js';
import { keyRoutes } from './key-routes.js';
import { ledgerRoutes } from './ledger-routes.js';
import { operatorPasswordRoutes } from './operator-password-routes.js';
import { operatorRoutes } from './operator-routes.js';
import { pageRoutes } from './pages.js';
import { sameOriginOnly } from './same-origin.js';
import { actForAccount, requireOperator, requireSession, sessionRoutes } from './session-routes.js';

/**
 * The people's side: pages, and below `/dashboard/api` what they ask. Jobs, balance and webhook endpoint are the very
 * routes of `/v1`; only who is asking is found out by a session instead of a key.
 */
export function dashboard(services: Services): Router {
  // A separate bucket: the polling of open pages takes nothing from programs, and a session admits no more than a key.
  const limit = requestLimit(services.db, 'dashboard', services.config.rateLimit);
  const api = Router();
  api.use((_request, response, next) => {
    response.setHeader('cache-control', 'no-store');
    next();
  });
  api.use(sameOriginOnly(services.config));
  api.use('/session', sessionRoutes(services, limit));
  api.use(requireSession(services));
  api.use(limitRequests(() => limit));
  api.use('/operator', requireOperator, operatorRoutes(services));
  api.use('/operator-password', requireOperator, operatorPasswordRoutes(services));
  api.use(actForAccount(services));
  api.use('/jobs', jobRoutes(services));
  api.use('/job-details', jobDetailRoutes(services));
  api.use('/balance', balanceRoutes(services));
  api.use('/ledger', ledgerRoutes(services));
  api.use('/keys', keyRoutes(services));
  api.use('/webhook-endpoint', webhookEndpointRoutes(services));
  api.use('/events', eventRoutes(services));
  api.use(() => {
    throw new HttpError(404, 'not_found', 'No such route');
  });

  const router = Router();
  router.use('/dashboard/api', api);
  router.use(pageRoutes(services));
  return router;
}
