import { tooManyRequestsBody } from '@gen3d/schema';
import type { RequestHandler } from 'express';
import { isPostgres } from '../db/dialect.js';
import type { Db } from '../db/open.js';
import { sendJson } from './send-json.js';
import { SharedBucket } from './shared-bucket.js';

export interface RateLimit {
  perSecond: number;
  burst: number;
}

/** A bucket of `burst` tokens, full at first, refilled with `perSecond` tokens a second. */
export class TokenBucket {
  #tokens: number;
  #filledAt: number;

  constructor(
    readonly perSecond: number,
    readonly burst: number,
    now: number,
  ) {
    this.#tokens = burst;
    this.#filledAt = now;
  }

  /** Takes a token if there is one. Returns the seconds until the next otherwise. `now` is in milliseconds. */
  take(now: number): number {
    const elapsed = Math.max(0, now - this.#filledAt) / 1_000;
    this.#tokens = Math.min(this.burst, this.#tokens + elapsed * this.perSecond);
    this.#filledAt = now;
    if (this.#tokens < 1) return (1 - this.#tokens) / this.perSecond;
    this.#tokens -= 1;
    return 0;
  }
}

/** How to take a token: SQLite has one server, and its bucket is in the process. */
function takingFrom(db: Db, limit: RateLimit): () => number | Promise<number> {
  if (isPostgres(db)) {
    const shared = new SharedBucket(db, limit);
    return () => shared.take();
  }
  const bucket = new TokenBucket(limit.perSecond, limit.burst, performance.now());
  return () => bucket.take(performance.now());
}

/** One bucket for the whole API, however many servers it has: 429 with `Retry-After` when it is empty. */
export function rateLimit(db: Db, limit: RateLimit): RequestHandler {
  const take = takingFrom(db, limit);
  return async (_request, response, next) => {
    const waitSeconds = await take();
    if (waitSeconds === 0) return next();
    response.set('retry-after', String(Math.ceil(waitSeconds)));
    sendJson(response, 429, tooManyRequestsBody);
  };
}
