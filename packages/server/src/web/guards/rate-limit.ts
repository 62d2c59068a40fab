import { tooManyRequestsBody } from '@gen3d/schema';
import type { Response } from 'express';
import { type BucketName, type Db, kindOf, type RateLimit } from '../../data/db/database.js';
import { sendJson } from '../answers/responses.js';

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

  /**
   * Takes a token if at least `reserve` others stay, and returns 0. Otherwise returns the seconds until there are enough.
   * `now` is in milliseconds.
   */
  take(now: number, reserve = 0): number {
    const { perSecond, burst } = this.#limit;
    const elapsed = Math.max(0, now - this.#filledAt) / 1_000;
    this.#tokens = Math.min(burst, this.#tokens + elapsed * perSecond);
    this.#filledAt = now;
    const needed = 1 + reserve;
    if (this.#tokens < needed) return (needed - this.#tokens) / perSecond;
    this.#tokens -= 1;
    return 0;
  }
}

/** Returns a function that takes a token as `TokenBucket.take` does. The bucket of a single server is in memory. */
function openBucket(db: Db, name: BucketName, limit: RateLimit): (reserve: number) => number | Promise<number> {
  const shared = kindOf(db).rateBucket?.(db, name, limit);
  if (shared) return shared;
  const bucket = new TokenBucket(limit, performance.now());
  return (reserve) => bucket.take(performance.now(), reserve);
}

/** How long a caller counts as active after a request. Clients poll every 2 to 5 s. */
const activeMs = 10_000;
/** Taken tokens count for this long. */
const takenMs = 1_000;
/** More would make each request slower. */
const maxActive = 1_000;

/**
 * Divides the last quarter of a bucket between its callers: one that recently took more tokens than another must leave
 * some for it, the more the greater its part. A caller on its own may take every token.
 */
export class BucketShares {
  readonly #lastQuarter: number;
  /** The active callers, the one with the oldest request first. `taken` decays exponentially. */
  readonly #active = new Map<string, { taken: number; at: number }>();

  constructor({ burst }: RateLimit) {
    this.#lastQuarter = Math.floor(burst / 4);
  }

  /** Returns how many tokens the caller must leave in the bucket. `now` is in milliseconds. */
  reserveFor(caller: string, now: number): number {
    const taken = this.#takenBy(caller, now);
    this.#note(caller, taken, now);
    let fewest = taken;
    let most = taken;
    for (const [other, { at }] of this.#active) {
      if (now - at > activeMs || this.#active.size > maxActive) this.#active.delete(other);
      else {
        const others = this.#takenBy(other, now);
        fewest = Math.min(fewest, others);
        most = Math.max(most, others);
      }
    }
    return most === 0 ? 0 : (this.#lastQuarter * (taken - fewest)) / most;
  }

  /** Counts a token that the caller has taken. */
  count(caller: string, now: number): void {
    this.#note(caller, this.#takenBy(caller, now) + 1, now);
  }

  #takenBy(caller: string, now: number): number {
    const { taken, at } = this.#active.get(caller) ?? { taken: 0, at: now };
    return taken * Math.exp((at - now) / takenMs);
  }

  #note(caller: string, taken: number, now: number): void {
    this.#active.delete(caller);
    this.#active.set(caller, { taken, at: now });
  }
}

/** Takes a token for a caller's request. Without one, responds with 429 and `Retry-After`, and resolves to false. */
export type RequestLimit = (response: Response, caller: string) => Promise<boolean>;

/** Limits requests with a bucket that all servers of a database share. Each divides what it takes among its callers. */
export function requestLimit(db: Db, name: BucketName, limit: RateLimit | 'off'): RequestLimit {
  if (limit === 'off') return async () => true;
  const take = openBucket(db, name, limit);
  const shares = new BucketShares(limit);
  return async (response, caller) => {
    const waitSeconds = await take(shares.reserveFor(caller, performance.now()));
    if (waitSeconds === 0) {
      shares.count(caller, performance.now());
      return true;
    }
    response.set('retry-after', String(Math.ceil(waitSeconds)));
    sendJson(response, 429, tooManyRequestsBody);
    return false;
  };
}

/** Gives the public test key its own bucket with a fifth of the rate: anyone can use it, and each job is a row. */
export const sandboxLimit = (limit: RateLimit | 'off'): RateLimit | 'off' =>
  limit === 'off' ? limit : { perSecond: Math.max(1, limit.perSecond / 5), burst: limit.burst };
