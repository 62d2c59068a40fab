import { TokenBucket } from '../http/rate-limit.js';

/** Passwords can be guessed, unlike random tokens: five attempts, then one every half minute. */
const perCaller = { perSecond: 1 / 30, burst: 5 };
/** For all callers together. An attempt takes 32 MiB of memory and a tenth of a second of a core. */
const perServer = { perSecond: 1, burst: 20 };
const maxCallers = 10_000;
const maxKnown = 100;

/**
 * Limits attempts to guess the operator's password: per caller, so that an attacker cannot lock the operator out, and for
 * all callers together, so that an attacker gains nothing from many addresses. The latter limit does not apply to callers
 * that have sent the correct password before. Each process counts separately.
 */
export class PasswordAttempts {
  /** By caller, the least recently used first. */
  readonly #callers = new Map<string, TokenBucket>();
  readonly #known = new Set<string>();
  readonly #all: TokenBucket;

  constructor(now: number) {
    this.#all = new TokenBucket(perServer, now);
  }

  /** Counts an attempt. Returns 0 if it is allowed, and otherwise the seconds to wait. `now` is in milliseconds. */
  take(caller: string, now: number): number {
    const bucket = this.#callers.get(caller) ?? new TokenBucket(perCaller, now);
    this.#callers.delete(caller);
    this.#callers.set(caller, bucket);
    removeOldest(this.#callers, maxCallers);
    const waitSeconds = bucket.take(now);
    return waitSeconds > 0 || this.#known.has(caller) ? waitSeconds : this.#all.take(now);
  }

  /** Notes that a caller sent the correct password. */
  noteSuccess(caller: string): void {
    this.#known.delete(caller);
    this.#known.add(caller);
    removeOldest(this.#known, maxKnown);
  }
}

function removeOldest(entries: Map<string, unknown> | Set<string>, max: number): void {
  const [oldest] = entries.keys();
  if (entries.size > max && oldest !== undefined) entries.delete(oldest);
}
