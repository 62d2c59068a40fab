import type { RequestHandler } from 'express';
import { type BucketName, type Db, debtMs, kindOf, type RateLimit } from '../../data/db/database.js';
import { TooManyRequestsError } from '../answers/responses.js';
import { clientOf } from './client-address.js';

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
   * Takes a token, and returns 0. Without one, returns the seconds until there is one. `overdraft` is the number of
   * tokens that the bucket may owe, and then gains before it has others again. `now` is in milliseconds.
   */
  take(now: number, overdraft = 0): number {
    const { perSecond, burst } = this.#limit;
    const elapsed = Math.max(0, now - this.#filledAt);
    const before = elapsed < debtMs ? this.#tokens : Math.max(0, this.#tokens);
    this.#tokens = Math.min(burst, before + (elapsed * perSecond) / 1_000);
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
/** A limit on the memory for callers. */
const maxActive = 10_000;

/**
 * Keeps a bucket usable for everyone while a caller takes every token: a caller that recently took less than an equal
 * part may overdraw the bucket by a quarter of the burst, or by less from three quarters of its part on. The others
 * then wait until that is refilled. Nothing is kept in reserve, so a caller may take every token as soon as it is the
 * only one.
 */
export class Overdrafts {
  readonly #limit: RateLimit;
  /** The active callers, the one with the oldest request first. `taken` decays exponentially. */
  readonly #active = new Map<string, { taken: number; at: number }>();

  constructor(limit: RateLimit) {
    this.#limit = limit;
  }

  /** Returns by how many tokens the caller may overdraw the bucket. `now` is in milliseconds. */
  of(caller: string, now: number): number {
    const taken = this.#note(caller, now, 0);
    for (const [other, { at }] of this.#active) {
      if (now - at <= activeMs && this.#active.size <= maxActive) break;
      this.#active.delete(other);
    }
    const { perSecond, burst } = this.#limit;
    const equalPart = (perSecond * takenMs) / 1_000 / this.#active.size;
    return Math.floor(burst / 4) * Math.min(1, Math.max(0, 4 * (1 - taken / equalPart)));
  }

  /** Counts tokens that the caller has taken. */
  count(caller: string, now: number, tokens = 1): void {
    this.#note(caller, now, tokens);
  }

  #note(caller: string, now: number, more: number): number {
    const { taken: before, at } = this.#active.get(caller) ?? { taken: 0, at: now };
    const taken = before * Math.exp((at - now) / takenMs) + more;
    this.#active.delete(caller);
    this.#active.set(caller, { taken, at: now });
    return taken;
  }
}

/** Takes a token for a caller's request. Rejects with a `TooManyRequestsError` if there is none. */
export type RequestLimit = (caller: string) => Promise<void>;

const unlimited: RequestLimit = async () => {};

/** Limits requests with a bucket that all servers of a database share. Each compares only its own callers. */
export function requestLimit(db: Db, name: BucketName, limit: RateLimit | 'off'): RequestLimit {
  if (limit === 'off') return unlimited;
  const take = openBucket(db, name, limit);
  const overdrafts = new Overdrafts(limit);
  return async (caller) => {
    const now = performance.now();
    const overdraft = overdrafts.of(caller, now);
    // Before the answer of a shared bucket: the caller may send others in the meantime.
    overdrafts.count(caller, now);
    const waitSeconds = await take(overdraft);
    if (waitSeconds <= 0) return;
    overdrafts.count(caller, now, -1);
    throw new TooManyRequestsError(waitSeconds);
  };
}

/** Gives the public test key its own bucket with a fifth of the rate: anyone can use it, and each job is a row. */
export const sandboxLimit = (limit: RateLimit | 'off'): RateLimit | 'off' =>
  limit === 'off' ? limit : { perSecond: Math.max(1, limit.perSecond / 5), burst: limit.burst };

/** Enough for a browser that opens several pages at once. */
const strangersLimit: RateLimit = { perSecond: 50, burst: 200 };
/** A limit on the memory for addresses. */
const maxAddresses = 10_000;

/** Limits requests without a key: each address has a bucket of its own. */
export function limitByAddress(limit: RateLimit | 'off'): RequestHandler {
  if (limit === 'off') return (_request, _response, next) => next();
  /** The address with the oldest request first. */
  const buckets = new Map<string, TokenBucket>();
  return (request, _response, next) => {
    const now = performance.now();
    const address = clientOf(request);
    const bucket = buckets.get(address) ?? new TokenBucket(strangersLimit, now);
    buckets.delete(address);
    buckets.set(address, bucket);
    for (const oldest of buckets.keys()) {
      if (buckets.size <= maxAddresses) break;
      buckets.delete(oldest);
    }
    const waitSeconds = bucket.take(now);
    if (waitSeconds > 0) throw new TooManyRequestsError(waitSeconds);
    next();
  };
}
