import { randomUUID } from 'node:crypto';
import type { Request, RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { Metrics } from './metrics.js';
import { traceIdOf } from './trace-context.js';

const segmentsOf = (path: string) => path.split('/').filter(Boolean);

/**
 * The pattern of the route that was met, such as `/v1/jobs/:id`, and not the path: one metric per route and not one per job.
 * Not by `baseUrl`, which Express takes back when a handler throws. Where a router is mounted has no parameters.
 */
function routeOf({ originalUrl, route }: Request): string {
  const pattern: unknown = route?.path;
  if (typeof pattern !== 'string') return 'other';
  const own = segmentsOf(pattern);
  const met = segmentsOf(originalUrl.split('?', 1)[0] ?? '');
  // Express finds /V1/jobs as well.
  const mount = met.slice(0, met.length - own.length).map((segment) => segment.toLowerCase());
  return `/${[...mount, ...own].join('/')}`;
}

/** Counts rejected requests, so that a flood of them does not become a flood of log lines. */
class Rejections {
  readonly #more = new Map<number, number>();

  constructor(
    private readonly log: Logger,
    private readonly windowMs: number,
  ) {}

  /** Whether this is the first one of its status in a while, which gets a line of its own. The others share one. */
  isFirst(status: number): boolean {
    const more = this.#more.get(status);
    this.#more.set(status, more === undefined ? 0 : more + 1);
    if (more !== undefined) return false;
    setTimeout(() => {
      const count = this.#more.get(status);
      this.#more.delete(status);
      if (count) this.log.info({ status, count }, 'more requests were rejected');
    }, this.windowMs).unref();
    return true;
  }
}

/**
 * Gives every request an id, its own if it brought a harmless one, and notes its end. No header or body is logged. Rejected
 * requests, which anyone can send, get one line per status and `summaryMs` and one with the number of the others.
 */
export function requestLog(log: Logger, metrics: Metrics, summaryMs = 60_000): RequestHandler {
  const rejections = new Rejections(log, summaryMs);
  return (request, response, next) => {
    const started = performance.now();
    const brought = request.headers['x-request-id'];
    const requestId = typeof brought === 'string' && /^[\w.-]{1,64}$/.test(brought) ? brought : randomUUID();
    response.locals.requestId = requestId;
    response.set('x-request-id', requestId);
    const traceId = traceIdOf(request.headers.traceparent);
    response.locals.traceId = traceId;
    response.on('close', () => {
      const ms = performance.now() - started;
      const { method } = request;
      const status = response.writableFinished ? response.statusCode : 499; // 499: the client went away first
      const route = routeOf(request);
      metrics.requestDuration.observe({ method, route, status }, ms / 1_000);
      const { jobId, caller } = response.locals;
      const isRejected = status === 429 || (caller === undefined && status >= 400 && status < 500);
      if (isRejected && !rejections.isFirst(status)) return;
      // Polls that went well would drown everything else, and preflights need no key.
      const level = /^(GET|HEAD|OPTIONS)$/.test(method) && status < 400 ? 'debug' : 'info';
      if (!log.isLevelEnabled(level)) return;
      log[level](
        {
          requestId,
          trace_id: traceId,
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
