import express, { type Express, type RequestHandler, Router } from 'express';
import helmet from 'helmet';
import type { Logger } from 'pino';
import { routineLevel } from '../base/log.js';
import type { Config } from '../config.js';
import type { Db } from '../data/db/database.js';
import { isGone, ofErasedAccount } from '../data/jobs/deletion.js';
import { errorHandler } from './answers/error-handler.js';
import { noStore, routeNotFound } from './answers/responses.js';
import { dashboardGuards, dashboardRoutes } from './dashboard/dashboard.js';
import { pageRoutes } from './dashboard/pages.js';
import { docs, openApi } from './docs.js';
import { authenticate, callerOf } from './guards/auth.js';
import { clientOf } from './guards/client-address.js';
import { cors } from './guards/cors.js';
import { ownHostsOnly, requireHost } from './guards/host.js';
import { receiveWholeBody } from './guards/http-server.js';
import { limitByAddress, requestLimit, sandboxLimit } from './guards/rate-limit.js';
import { requestLog } from './guards/request-log.js';
import { admit, holdByAddress } from './guards/shares.js';
import { type Metrics, metricsText } from './metrics.js';
import { type Guards, mount, type RouteGroup } from './mount.js';
import { assetRoutes, movedAssetRoutes } from './routes/assets.js';
import { balanceRoutes } from './routes/balance.js';
import { accountEventRoutes } from './routes/events.js';
import { galleryRoutes } from './routes/gallery.js';
import { health, readiness } from './routes/health.js';
import { jobRoutes } from './routes/jobs.js';
import type { Services } from './routes/services.js';
import { webhookEndpointRoutes } from './routes/webhook-endpoint.js';

/** A group with one route. */
const page = (handler: RequestHandler): Router => Router().get('/', handler);

/**
 * Creates the app with all routes. The contract sets their order: a request is not examined before its key.
 * @param foreign routes of other servers, for callers with a key
 */
export function createApp(services: Services, foreign: readonly RouteGroup<'key'>[]): Express {
  const { config, metrics, log, db, shares, assetsFolder, assetsUrl } = services;
  const app = express();
  app.disable('x-powered-by');
  // The contract has no 304, and an entity tag costs a hash of every response.
  app.disable('etag');
  app.set('query parser', 'simple');

  app.use(requestLog(log, metrics, { requestLevel: routineLevel(config) }));
  app.use(receiveWholeBody);
  // Responses are data, which browsers must not execute, frame or sniff.
  app.use(
    helmet({
      contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
      // The operator's other hosts may use plain http.
      strictTransportSecurity: { includeSubDomains: false },
    }),
  );
  app.use(requireHost);

  const [holdStranger, limitStranger] = [holdByAddress(shares.strangers), limitByAddress(config.rateLimit)];
  // The dashboard has its own bucket, so that the polling of open pages does not count toward the limit of programs.
  const dashboardLimit = requestLimit(db, 'dashboard', config.rateLimit);
  const guards = {
    // Cached, so they cost nothing.
    probe: { handlers: [], areExclusive: false },
    // The page at `/`. Its group matches every path, and whether it responds is not known before.
    page: { handlers: [], areExclusive: false },
    asset: { handlers: [holdStranger], areExclusive: false },
    anyone: { handlers: [limitStranger, holdStranger], areExclusive: false },
    key: { handlers: [noStore, apiCors, ...keyGuards(services)], areExclusive: true },
    ...dashboardGuards(services, dashboardLimit, [limitStranger, holdStranger]),
  } satisfies Record<string, Guards>;

  // Before the check of the host: probes call an address.
  mount(app, guards, [
    { at: '/healthz', who: 'probe', routes: page(health(services)) },
    { at: '/readyz', who: 'probe', routes: page(readiness(services)) },
  ]);
  app.use(ownHostsOnly(config));

  const deletions = { isGone: (jobId: string) => isGone(db, jobId), isErased: ofErasedAccount(db) };
  const assets =
    assetsFolder === undefined ? movedAssetRoutes(assetsUrl, deletions) : assetRoutes(assetsFolder, deletions);
  mount(app, guards, [
    ...(config.metricsPort === undefined
      ? [{ at: '/metrics', who: 'probe' as const, routes: page(metricsText(metrics)) }]
      : []),
    { at: '/openapi.json', who: 'anyone', routes: page(openApi()) },
    { at: '/docs', who: 'anyone', routes: docs(config) },
    { at: '/assets', who: 'asset', routes: assets },
    ...dashboardRoutes(services, dashboardLimit),
    ...pageRoutes(services),
    { at: '/v1/jobs', who: 'key', routes: jobRoutes(services) },
    ...foreign,
    { at: '/gen3d/jobs', who: 'key', routes: galleryRoutes(services) },
    { at: '/gen3d/events', who: 'key', routes: accountEventRoutes(services) },
    { at: '/v1/balance', who: 'key', routes: balanceRoutes(services) },
    { at: '/v1/webhook-endpoint', who: 'key', routes: webhookEndpointRoutes(services) },
    { at: '/', who: 'key', routes: Router() },
  ]);
  app.use(errorHandler(log));
  return app;
}

const apiCors = cors({
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
});

/** Requires a key, and applies the limits of its account. Everyone has the test key, whose callers are strangers. */
function keyGuards(services: Services): RequestHandler[] {
  const { config, db, shares } = services;
  const apiLimit = requestLimit(db, 'api', config.rateLimit);
  const testKeyLimit = requestLimit(db, 'sandbox', sandboxLimit(config.rateLimit));
  return [
    authenticate(services),
    async (request, response, next) => {
      const { accountId, sandbox } = callerOf(response);
      if (sandbox) await admit(shares.strangers, clientOf(request), testKeyLimit, response);
      else await admit(shares.requests, accountId, apiLimit, response);
      next();
    },
  ];
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
  app.get('/healthz', health(services));
  // Monitoring calls an address, whatever names the API has.
  app.use(ownHostsOnly({ ...services.config, host: services.config.metricsHost, allowedHost: undefined }));
  app.get('/metrics', metricsText(services.metrics));
  app.use(routeNotFound);
  app.use(errorHandler(services.log));
  return app;
}
