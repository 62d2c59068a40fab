import type { RateLimit } from '../../data/db/database.js';
import { TokenBucket } from '../guards/rate-limit.js';

/** Passwords can be guessed, unlike random tokens: five attempts, then one every half minute. */
const perCaller = { perSecond: 1 / 30, burst: 5 };
/** All callers of an origin share this. An attempt takes 32 MiB of memory and a tenth of a second of a core. */
const perOrigin = { perSecond: 1, burst: 20 };
const maxBuckets = 10_000;
const maxKnown = 100;

/**
 * Limits attempts to guess the operator's password: per caller, so that an attacker cannot lock the operator out, and for
 * all callers of an origin together, so that an attacker gains nothing from many addresses, real or forged. The latter
 * limit does not apply to callers that have sent the correct password before. Each process counts separately.
 */
export class PasswordAttempts {
  /** Here and below, the least recently used entry is first. */
  readonly #callers = new Map<string, TokenBucket>();
  readonly #origins = new Map<string, TokenBucket>();
  readonly #known = new Set<string>();

  /** Counts an attempt. Returns 0 if it is allowed, and otherwise the seconds to wait. `now` is in milliseconds. */
  take(caller: string, origin: string, now: number): number {
    const waitSeconds = takeFrom(this.#callers, caller, perCaller, now);
    return waitSeconds > 0 || this.#known.has(caller) ? waitSeconds : takeFrom(this.#origins, origin, perOrigin, now);
  }

  /** Notes that a caller sent the correct password. */
  noteSuccess(caller: string): void {
    this.#known.delete(caller);
    this.#known.add(caller);
    removeOldest(this.#known, maxKnown);
  }
}

function takeFrom(buckets: Map<string, TokenBucket>, key: string, limit: RateLimit, now: number): number {
  const bucket = buckets.get(key) ?? new TokenBucket(limit, now);
  buckets.delete(key);
  buckets.set(key, bucket);
  removeOldest(buckets, maxBuckets);
  return bucket.take(now);
}

function removeOldest(entries: Map<string, unknown> | Set<string>, max: number): void {
  const [oldest] = entries.keys();
  if (entries.size > max && oldest !== undefined) entries.delete(oldest);
}
