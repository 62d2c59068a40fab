import express, { type Express } from 'express';
import helmet from 'helmet';
import type { Logger } from 'pino';
import type { Config } from '../../config.js';
import type { Db } from '../../data/db/open.js';
import { errorHandler, HttpError } from './errors.js';
import { health, metricsText } from './health.js';
import type { Metrics } from './metrics.js';
import { ownNamesOnly } from './own-names.js';
import { requireHost } from './refuse-malformed.js';

/** The operator's view of the process, served on `--metrics-port`. */
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
  app.use(ownNamesOnly(services.config));
  app.get('/healthz', health(services));
  app.get('/metrics', metricsText(services.metrics));
  app.use(() => {
    throw new HttpError(404, 'not_found', 'No such route');
  });
  app.use(errorHandler(services.log));
  return app;
}
