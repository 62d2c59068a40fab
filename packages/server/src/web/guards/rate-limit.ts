import { type BucketName, type Db, kindOf, type RateLimit } from '../../data/db/database.js';
import { TooManyRequestsError } from '../answers/responses.js';

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
   * Takes a token, and returns 0. Without one, returns the seconds until there is one. `overdraft` is the number of tokens
   * that the bucket may owe, and then gains before it has others again. `now` is in milliseconds.
   */
  take(now: number, overdraft = 0): number {
    const { perSecond, burst } = this.#limit;
    const elapsed = Math.max(0, now - this.#filledAt) / 1_000;
    this.#tokens = Math.min(burst, this.#tokens + elapsed * perSecond);
    this.#filledAt = now;
    const needed = 1 - overdraft;
    if (this.#tokens < needed) return (needed - this.#tokens) / perSecond;
    this.#tokens -= 1;
    return 0;
  }
}

/** Returns a function that takes a token as `TokenBucket.take` does. The bucket of a single server is in memory. */
function openBucket(db: Db, name: BucketName, limit: RateLimit): (overdraft: number) => number | Promise<number> {
  const shared = kindOf(db).rateBucket?.(db, name, limit);
  if (shared) return shared;
  const bucket = new TokenBucket(limit, performance.now());
  return (overdraft) => bucket.take(performance.now(), overdraft);
}

/** How long a caller counts as active after a request. Clients poll every 2 to 5 s. */
const activeMs = 10_000;
/** Taken tokens count for this long. */
const takenMs = 1_000;
/** More would make each request slower. */
const maxActive = 1_000;

/**
 * Keeps a bucket usable for everyone while a caller takes every token: a caller that recently took fewer than another may
 * overdraw the bucket, the more the smaller its part is, by at most a quarter of the burst. The others then wait until
 * that is refilled. Nothing is kept in reserve, so a caller may take every token as soon as it is the only one.
 */
export class BucketShares {
  readonly #maxOverdraft: number;
  /** The active callers, the one with the oldest request first. `taken` decays exponentially. */
  readonly #active = new Map<string, { taken: number; at: number }>();

  constructor({ burst }: RateLimit) {
    this.#maxOverdraft = Math.floor(burst / 4);
  }

  /** Returns by how many tokens the caller may overdraw the bucket. `now` is in milliseconds. */
  overdraftFor(caller: string, now: number): number {
    const taken = this.#takenBy(caller, now);
    this.#note(caller, taken, now);
    let most = taken;
    for (const [other, { at }] of this.#active) {
      if (now - at > activeMs || this.#active.size > maxActive) this.#active.delete(other);
      else most = Math.max(most, this.#takenBy(other, now));
    }
    return most === 0 ? 0 : (this.#maxOverdraft * (most - taken)) / most;
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

/** Takes a token for a caller's request. Rejects with a `TooManyRequestsError` if there is none. */
export type RequestLimit = (caller: string) => Promise<void>;

/** Limits requests with a bucket that all servers of a database share. Each divides what it takes among its callers. */
export function requestLimit(db: Db, name: BucketName, limit: RateLimit | 'off'): RequestLimit {
  if (limit === 'off') return async () => {};
  const take = openBucket(db, name, limit);
  const shares = new BucketShares(limit);
  return async (caller) => {
    const waitSeconds = await take(shares.overdraftFor(caller, performance.now()));
    if (waitSeconds > 0) throw new TooManyRequestsError(waitSeconds);
    shares.count(caller, performance.now());
  };
}

/** Gives the public test key its own bucket with a fifth of the rate: anyone can use it, and each job is a row. */
export const sandboxLimit = (limit: RateLimit | 'off'): RateLimit | 'off' =>
  limit === 'off' ? limit : { perSecond: Math.max(1, limit.perSecond / 5), burst: limit.burst };
