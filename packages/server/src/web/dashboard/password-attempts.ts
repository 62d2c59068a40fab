import { TokenBucket } from '../http/rate-limit.js';

/** A password is guessed, a random token is not: five attempts, then one every half minute. */
const perCaller = { perSecond: 1 / 30, burst: 5 };
/** For all callers together. An attempt takes 32 MiB and a tenth of a second of a core. */
const perServer = { perSecond: 1, burst: 20 };
const maxCallers = 10_000;
const maxKnown = 100;

/**
 * Limits attempts at the operator's password. They are counted per caller, so that a stranger cannot lock the operator out,
 * and for all callers together, so that many addresses cost no more than a few. The latter limit does not apply to
 * callers that have given the right password before. Each process counts on its own: of several servers on one
 * database, each allows as many.
 */
export class PasswordAttempts {
  /** By caller, the least recent first. */
  readonly #callers = new Map<string, TokenBucket>();
  readonly #known = new Set<string>();
  readonly #all: TokenBucket;

  constructor(now: number) {
    this.#all = new TokenBucket(perServer.perSecond, perServer.burst, now);
  }

  /** Counts an attempt. Returns 0 if it may be made, and otherwise the seconds until then. `now` is in milliseconds. */
  take(caller: string, now: number): number {
    const bucket = this.#callers.get(caller) ?? new TokenBucket(perCaller.perSecond, perCaller.burst, now);
    this.#callers.delete(caller);
    this.#callers.set(caller, bucket);
    removeOldest(this.#callers, maxCallers);
    const waitSeconds = bucket.take(now);
    return waitSeconds > 0 || this.#known.has(caller) ? waitSeconds : this.#all.take(now);
  }

  /** The password was right. */
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
