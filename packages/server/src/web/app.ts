import express, { type Express } from 'express';
import helmet from 'helmet';
import { dashboard } from './dashboard/dashboard.js';
import { docs } from './docs/docs.js';
import { openApi } from './docs/openapi.js';
import { anyOrigin } from './http/any-origin.js';
import { assetRoutes, movedAssetRoutes } from './http/assets.js';
import { authenticate, callerOf } from './http/auth.js';
import { balanceRoutes } from './http/balance.js';
import { errorHandler, HttpError } from './http/errors.js';
import { health, metricsText } from './http/health.js';
import { jobRoutes } from './http/jobs.js';
import { ownNamesOnly } from './http/own-names.js';
import { limitRequests, requestLimit, sandboxLimit } from './http/rate-limit.js';
import { readiness } from './http/readiness.js';
import { requireHost } from './http/refuse-malformed.js';
import { requestLog } from './http/request-log.js';
import type { Services } from './http/services.js';
import { cutOffUnreadBody } from './http/unread-body.js';
import { webhookEndpointRoutes } from './http/webhook-endpoint.js';

/** How long a client may go on sending a body that was answered already, in milliseconds. */
const unreadBodyGraceMs = 5_000;

/** The whole HTTP surface. The order is the contract's: nothing about a request is looked at before its key. */
export function createApp(services: Services): Express {
  const { config, metrics, log, db } = services;
  const app = express();
  app.disable('x-powered-by');
  // The contract has no 304, and an entity tag costs a hash of every answer.
  app.disable('etag');
  app.set('query parser', 'simple');

  app.use(requestLog(log, metrics));
  app.use(cutOffUnreadBody(unreadBodyGraceMs));
  // An API answers with data: nothing in it may be run, framed or guessed at.
  app.use(
    helmet({
      contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
      // The operator's other hosts may speak plain http; that is theirs to decide.
      strictTransportSecurity: { includeSubDomains: false },
    }),
  );
  app.use(requireHost);
  app.use(ownNamesOnly(config));
  app.get('/healthz', health(services));
  app.get('/readyz', readiness(services));
  if (config.metricsPort === undefined) app.get('/metrics', metricsText(metrics));
  app.get('/openapi.json', openApi());
  app.use('/docs', docs());
  const { assetsFolder, assetsUrl } = services;
  app.use('/assets', assetsFolder === undefined ? movedAssetRoutes(assetsUrl) : assetRoutes(assetsFolder));
  app.use(dashboard(services));

  app.use((_request, response, next) => {
    response.setHeader('cache-control', 'no-store');
    next();
  });
  app.use(
    anyOrigin({
      methods: ['GET', 'POST', 'PUT', 'DELETE'],
      // `*` stands for every header but Authorization, so that a page's tracing headers do not stop its calls.
      requestHeaders: ['Authorization', 'Content-Type', 'X-Api-Key', 'X-Request-Id', '*'],
      responseHeaders: ['Allow', 'Retry-After', 'X-Request-Id'],
    }),
  );
  app.use(authenticate(services));
  const apiLimit = requestLimit(db, 'api', config.rateLimit);
  const testKeyLimit = requestLimit(db, 'sandbox', sandboxLimit(config.rateLimit));
  app.use(limitRequests((response) => (callerOf(response).sandbox ? testKeyLimit : apiLimit)));
  app.use('/v1/jobs', jobRoutes(services));
  app.use('/v1/balance', balanceRoutes(services));
  app.use('/v1/webhook-endpoint', webhookEndpointRoutes(services));
  app.use(() => {
    throw new HttpError(404, 'not_found', 'No such route');
  });
  app.use(errorHandler(log));
  return app;
}
