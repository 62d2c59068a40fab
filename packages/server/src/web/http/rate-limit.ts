import { tooManyRequestsBody } from '@gen3d/schema';
import type { RequestHandler, Response } from 'express';
import { isPostgres } from '../../data/db/dialect.js';
import type { Db } from '../../data/db/open.js';
import { sendJson } from './send-json.js';
import { type BucketName, type RateLimit, SharedBucket } from './shared-bucket.js';

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
function takingFrom(db: Db, name: BucketName, limit: RateLimit): () => number | Promise<number> {
  if (isPostgres(db)) {
    const shared = new SharedBucket(db, name, limit);
    return () => shared.take();
  }
  const bucket = new TokenBucket(limit.perSecond, limit.burst, performance.now());
  return () => bucket.take(performance.now());
}

/** Takes a token for a request. Without one, responds with 429 and `Retry-After`, and resolves to false. */
export type RequestLimit = (response: Response) => Promise<boolean>;

/** One bucket for all servers of a database. */
export function requestLimit(db: Db, name: BucketName, limit: RateLimit | 'off'): RequestLimit {
  if (limit === 'off') return async () => true;
  const take = takingFrom(db, name, limit);
  return async (response) => {
    const waitSeconds = await take();
    if (waitSeconds === 0) return true;
    response.set('retry-after', String(Math.ceil(waitSeconds)));
    sendJson(response, 429, tooManyRequestsBody);
    return false;
  };
}

/** Lets a request pass that gets a token of the limit chosen for it. */
export const limitRequests =
  (limitFor: (response: Response) => RequestLimit): RequestHandler =>
  async (_request, response, next) => {
    if (await limitFor(response)(response)) next();
  };

/**
 * Anyone can use the public test key, and each of its jobs is a row, so it gets a fifth of the rate in a separate
 * bucket.
 */
export const sandboxLimit = (limit: RateLimit | 'off'): RateLimit | 'off' =>
  limit === 'off' ? limit : { perSecond: Math.max(1, limit.perSecond / 5), burst: limit.burst };
