import express, { type Express } from 'express';
import helmet from 'helmet';
import type { Logger } from 'pino';
import { routineLevel } from '../base/log.js';
import type { Config } from '../config.js';
import type { Db } from '../data/db/database.js';
import { isGone } from '../data/jobs/deletion.js';
import { errorHandler } from './answers/error-handler.js';
import { noStore, routeNotFound } from './answers/responses.js';
import { dashboard } from './dashboard/dashboard.js';
import { docs, openApi } from './docs.js';
import { authenticate, callerOf } from './guards/auth.js';
import { clientOf } from './guards/client-address.js';
import { cors } from './guards/cors.js';
import { ownHostsOnly, requireHost } from './guards/host.js';
import { requestLimit, sandboxLimit } from './guards/rate-limit.js';
import { requestLog } from './guards/request-log.js';
import { closeUnreadBodies } from './guards/slow-clients.js';
import { type Metrics, metricsText } from './metrics.js';
import { assetRoutes, movedAssetRoutes } from './routes/assets.js';
import { balanceRoutes } from './routes/balance.js';
import { compatibleRoutes } from './routes/compatible.js';
import { accountEventRoutes } from './routes/events.js';
import { galleryRoutes } from './routes/gallery.js';
import { health, readiness } from './routes/health.js';
import { jobRoutes } from './routes/jobs.js';
import type { Services } from './routes/services.js';
import { webhookEndpointRoutes } from './routes/webhook-endpoint.js';

/** How long a client may keep sending a body after the response. */
const unreadBodyGraceMs = 5_000;

/** Creates the app with all routes. The contract sets their order: a request is not examined before its key. */
export function createApp(services: Services): Express {
  const { config, metrics, log, db } = services;
  const app = express();
  app.disable('x-powered-by');
  // The contract has no 304, and an entity tag costs a hash of every response.
  app.disable('etag');
  app.set('query parser', 'simple');

  app.use(requestLog(log, metrics, { requestLevel: routineLevel(config) }));
  app.use(closeUnreadBodies(unreadBodyGraceMs));
  // Responses are data, which browsers must not execute, frame or sniff.
  app.use(
    helmet({
      contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
      // The operator's other hosts may use plain http.
      strictTransportSecurity: { includeSubDomains: false },
    }),
  );
  app.use(requireHost);
  app.use(ownHostsOnly(config));
  app.get('/healthz', health(services));
  app.get('/readyz', readiness(services));
  if (config.metricsPort === undefined) app.get('/metrics', metricsText(metrics));
  app.get('/openapi.json', openApi());
  app.use('/docs', docs(config));
  const { assetsFolder, assetsUrl } = services;
  const gone = (jobId: string) => isGone(db, jobId);
  app.use('/assets', assetsFolder === undefined ? movedAssetRoutes(assetsUrl, gone) : assetRoutes(assetsFolder, gone));
  app.use(dashboard(services));

  app.use(noStore);
  app.use(
    cors({
      methods: ['GET', 'POST', 'PUT', 'DELETE'],
      // `*` stands for every header except Authorization, so that a page's tracing headers do not block its requests.
      requestHeaders: [
        'Authorization',
        'Content-Type',
        'X-Api-Key',
        'Idempotency-Key',
        'Last-Event-ID',
        'X-Gen3d-Label',
        'X-Gen3d-Sampler',
        'X-Request-Id',
        '*',
      ],
      responseHeaders: [
        'Allow',
        'Retry-After',
        'X-Gen3d-Failing-Since',
        'X-Gen3d-Paused-Until',
        'X-Gen3d-Queue-Position',
        'X-Gen3d-Stage',
        'X-Request-Id',
      ],
    }),
  );
  app.use(authenticate(services));
  const apiLimit = requestLimit(db, 'api', config.rateLimit);
  const testKeyLimit = requestLimit(db, 'sandbox', sandboxLimit(config.rateLimit));
  app.use(async (request, response, next) => {
    const { accountId, sandbox } = callerOf(response);
    // Everyone has the test key, so its callers are told apart by their addresses.
    if (await (sandbox ? testKeyLimit(response, clientOf(request)) : apiLimit(response, accountId))) next();
  });
  app.use('/v1/jobs', jobRoutes(services));
  // Some servers have the route without the version.
  if (config.compat) app.use(['/v1/3d/generations', '/3d/generations'], compatibleRoutes(services));
  app.use('/gen3d/jobs', galleryRoutes(services));
  app.use('/gen3d/events', accountEventRoutes(services));
  app.use('/v1/balance', balanceRoutes(services));
  app.use('/v1/webhook-endpoint', webhookEndpointRoutes(services));
  app.use(routeNotFound);
  app.use(errorHandler(log));
  return app;
}

/** Creates the app that listens on `--metrics-port`. */
export function createMetricsApp(services: {
  config: Config;
  db: Db;
  metrics: Metrics;
  isReady: () => boolean;
  log: Logger;
}): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(helmet({ strictTransportSecurity: false }));
  app.use(requireHost);
  app.use(ownHostsOnly({ ...services.config, host: services.config.metricsHost }));
  app.get('/healthz', health(services));
  app.get('/metrics', metricsText(services.metrics));
  app.use(routeNotFound);
  app.use(errorHandler(services.log));
  return app;
}
