import type { RequestHandler } from 'express';
import { answers } from '../../data/db/answers.js';
import type { Db } from '../../data/db/open.js';
import { DatabaseUnavailableError } from '../../data/db/unavailable.js';
import { passesInTime } from './in-time.js';
import type { Metrics } from './metrics.js';
import { sendJson } from './send-json.js';

/** `/healthz`: whether this process works and reaches its database. */
export function health({ db, isReady }: { db: Db; isReady: () => boolean }): RequestHandler {
  return async (_request, response) => {
    if (!(await passesInTime(answers(db)))) throw new DatabaseUnavailableError('no answer in time');
    if (isReady()) sendJson(response, 200, { status: 'ok' });
    else sendJson(response, 503, { status: 'starting' });
  };
}

/** `/metrics`, in Prometheus' text format. */
export function metricsText(metrics: Metrics): RequestHandler {
  return async (_request, response) => {
    response.type(metrics.registry.contentType).send(await metrics.text());
  };
}
