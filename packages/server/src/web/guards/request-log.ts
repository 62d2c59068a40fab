import { randomUUID } from 'node:crypto';
import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { Metrics } from '../metrics.js';
import { routeLabel } from '../mount.js';

/** The part of a path that is logged. A share's token or an asset's random key would let a reader of the log open it. */
const loggedPath = (url: string): string =>
  (url.split('?', 1)[0] ?? '').replace(/(\/share|\/assets\/[^/]*)\/.*/i, '$1/…').slice(0, 256);

/** version, trace-id, parent-id, trace-flags; versions after 00 may append more. */
const traceparent = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;
const isZero = (digits: string) => /^0+$/.test(digits);

/**
 * Returns the trace id of a request, 32 hexadecimal digits: the one in its `traceparent` header if that is valid, or a
 * new one.
 * @see W3C Trace Context, https://www.w3.org/TR/trace-context/#traceparent-header
 */
export function traceIdOf(header: string | string[] | undefined): string {
  const [, version, traceId, parentId, more] = (typeof header === 'string' && traceparent.exec(header)) || [];
  const isKnownFormat = version !== 'ff' && (version !== '00' || more === undefined);
  if (traceId && parentId && isKnownFormat && !isZero(traceId) && !isZero(parentId)) return traceId;
  // Node keeps random bytes for `randomUUID` in stock, and asks the system for those of `randomBytes` each time.
  return randomUUID().replaceAll('-', '');
}

/** Limits the log lines of a kind in a window of time, so that a flood of requests does not become a flood of lines. */
class Lines {
  readonly #counts = new Map<string, number>();
  readonly #log: Logger;
  readonly #windowMs: number;

  constructor(log: Logger, windowMs: number) {
    this.#log = log;
    this.#windowMs = windowMs;
  }

  /** Whether this is one of the first `max` of its kind in the window, which have own lines. Others share one. */
  has(kind: Record<string, string | number>, max: number, summary: string): boolean {
    const key = Object.values(kind).join(' ');
    const count = this.#counts.get(key) ?? 0;
    this.#counts.set(key, count + 1);
    if (count > 0) return count < max;
    setTimeout(() => {
      const more = (this.#counts.get(key) ?? 0) - max;
      this.#counts.delete(key);
      if (more > 0) this.#log.info({ ...kind, count: more }, summary);
    }, this.#windowMs).unref();
    return true;
  }
}

/** Lines of accepted requests that an account has in a window, by status. */
const maxLinesPerAccount = 600;

/**
 * Gives every request an id (its own if that is safe to log) and a trace id, and logs its end, without headers or
 * bodies. Rejected requests, which anyone can send, get one line per status and `summaryMs`, and one line with the
 * number of the others; the requests of an account get ten lines a second.
 */
export function requestLog(
  log: Logger,
  metrics: Metrics,
  { summaryMs = 60_000, requestLevel = 'info' }: { summaryMs?: number; requestLevel?: 'debug' | 'info' } = {},
): RequestHandler {
  const lines = new Lines(log, summaryMs);
  return (request, response, next) => {
    const startedAt = performance.now();
    const sentId = request.headers['x-request-id'];
    const requestId = typeof sentId === 'string' && /^[\w.-]{1,64}$/.test(sentId) ? sentId : randomUUID();
    response.locals.requestId = requestId;
    response.set('x-request-id', requestId);
    const traceId = traceIdOf(request.headers.traceparent);
    response.locals.traceId = traceId;
    response.on('close', () => {
      const ms = performance.now() - startedAt;
      const { method } = request;
      const status = response.writableFinished ? response.statusCode : 499; // 499: the client disconnected first
      metrics.recordRequest({ method, route: routeLabel(request, response), status }, ms / 1_000);
      const { jobId, caller } = response.locals;
      const isRejected = status === 429 || (caller === undefined && status >= 400 && status < 500);
      if (isRejected && !lines.has({ status }, 1, 'more requests were rejected')) return;
      // Polls would hide everything else, and anyone can send preflights.
      const level = /^(GET|HEAD|OPTIONS)$/.test(method) && status < 400 ? 'debug' : requestLevel;
      if (!log.isLevelEnabled(level)) return;
      const { accountId = 'none' } = caller ?? {};
      if (!isRejected && !lines.has({ status, accountId }, maxLinesPerAccount, 'more requests')) return;
      log[level](
        {
          requestId,
          trace_id: traceId,
          method,
          path: loggedPath(request.originalUrl),
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
