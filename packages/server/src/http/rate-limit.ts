import { tooManyRequestsBody } from '@gen3d/schema';
import type { RequestHandler } from 'express';
import { sendJson } from './send-json.js';

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

/** One bucket for the whole API: 429 with `Retry-After` when it is empty. */
export function rateLimit({ perSecond, burst }: { perSecond: number; burst: number }): RequestHandler {
  const bucket = new TokenBucket(perSecond, burst, performance.now());
  return (_request, response, next) => {
    const waitSeconds = bucket.take(performance.now());
    if (waitSeconds === 0) return next();
    response.set('retry-after', String(Math.ceil(waitSeconds)));
    sendJson(response, 429, tooManyRequestsBody);
  };
}
