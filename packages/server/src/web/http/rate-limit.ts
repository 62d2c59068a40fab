import { tooManyRequestsBody } from '@gen3d/schema';
import type { RequestHandler, Response } from 'express';
import { type BucketName, type Db, kindOf, type RateLimit } from '../../data/db/database.js';
import { sendJson } from './responses.js';

/** A bucket of `burst` tokens, initially full, that gains `perSecond` tokens a second. */
export class TokenBucket {
  #tokens: number;
  #filledAt: number;
  readonly #limit: RateLimit;

  constructor(limit: RateLimit, now: number) {
    this.#limit = limit;
    this.#tokens = limit.burst;
    this.#filledAt = now;
  }

  /** Takes a token and returns 0, or returns the seconds until the next token. `now` is in milliseconds. */
  take(now: number): number {
    const { perSecond, burst } = this.#limit;
    const elapsed = Math.max(0, now - this.#filledAt) / 1_000;
    this.#tokens = Math.min(burst, this.#tokens + elapsed * perSecond);
    this.#filledAt = now;
    if (this.#tokens < 1) return (1 - this.#tokens) / perSecond;
    this.#tokens -= 1;
    return 0;
  }
}

/** A function that takes a token. The bucket of a single server is in memory. */
function openBucket(db: Db, name: BucketName, limit: RateLimit): () => number | Promise<number> {
  const shared = kindOf(db).rateBucket?.(db, name, limit);
  if (shared) return shared;
  const bucket = new TokenBucket(limit, performance.now());
  return () => bucket.take(performance.now());
}

/** Takes a token for a request. Without one, responds with 429 and `Retry-After`, and resolves to false. */
export type RequestLimit = (response: Response) => Promise<boolean>;

/** All servers of a database share the bucket. */
export function requestLimit(db: Db, name: BucketName, limit: RateLimit | 'off'): RequestLimit {
  if (limit === 'off') return async () => true;
  const take = openBucket(db, name, limit);
  return async (response) => {
    const waitSeconds = await take();
    if (waitSeconds === 0) return true;
    response.set('retry-after', String(Math.ceil(waitSeconds)));
    sendJson(response, 429, tooManyRequestsBody);
    return false;
  };
}

/** Applies to each request the limit that `limitFor` chooses. */
export const limitRequests =
  (limitFor: (response: Response) => RequestLimit): RequestHandler =>
  async (_request, response, next) => {
    if (await limitFor(response)(response)) next();
  };

/** The public test key has a separate bucket with a fifth of the rate: anyone can use it, and each of its jobs is a row. */
export const sandboxLimit = (limit: RateLimit | 'off'): RateLimit | 'off' =>
  limit === 'off' ? limit : { perSecond: Math.max(1, limit.perSecond / 5), burst: limit.burst };
