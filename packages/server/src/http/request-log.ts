import { randomUUID } from 'node:crypto';
import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { Metrics } from '../metrics.js';

/** Gives every request an id, its own if it brought a harmless one, and notes its end. No header or body is logged. */
export function requestLog(log: Logger, metrics: Metrics): RequestHandler {
  return (request, response, next) => {
    const started = performance.now();
    const brought = request.headers['x-request-id'];
    const requestId = typeof brought === 'string' && /^[\w.-]{1,64}$/.test(brought) ? brought : randomUUID();
    response.locals.requestId = requestId;
    response.set('x-request-id', requestId);
    response.on('close', () => {
      const ms = performance.now() - started;
      const { method, baseUrl } = request;
      const status = response.writableFinished ? response.statusCode : 499; // 499: the client went away first
      const path: unknown = request.route?.path;
      // The pattern, not the path: one metric per route and not one per job.
      const route = typeof path === 'string' ? (baseUrl + path).replace(/(.)\/$/, '$1') : 'other';
      metrics.requestDuration.observe({ method, route, status }, ms / 1_000);
      const { jobId, caller } = response.locals;
      // Polls that went well would drown everything else.
      const level = method === 'GET' && status < 400 ? 'debug' : 'info';
      if (!log.isLevelEnabled(level)) return;
      log[level](
        {
          requestId,
          method,
          path: request.originalUrl.split('?', 1)[0]?.slice(0, 256),
          status,
          ms: Math.round(ms * 10) / 10,
          accountId: caller?.accountId,
          jobId: jobId ?? request.params?.id,
        },
        'request',
      );
    });
    next();
  };
}
