import express, { type Express } from 'express';
import helmet from 'helmet';
import type { Logger } from 'pino';
import type { Config } from '../../config.js';
import type { Db } from '../../data/db/database.js';
import { errorHandler } from './error-handler.js';
import { health } from './health.js';
import { ownHostsOnly, requireHost } from './host.js';
import { type Metrics, metricsText } from './metrics.js';
import { routeNotFound } from './responses.js';

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
