import { limits } from '@gen3d/schema';
import { FairShares } from '../../base/fair-shares.js';
import { everyAccount, type SkippedAccounts } from '../../data/jobs/claim.js';

/** Memory budget of all fetched images: eight of the largest size, enough for the default of eight slots. */
const maxBytes = 8 * limits.remoteImageBytes;
/** A fetch that has received less than this in `windowMs` is slow. */
const windowBytes = 64 * 1024;
const windowMs = 5_000;

/** Tells a client why its image was not fetched. */
export const slowHost = `The host of the image URL sent less than ${windowBytes / 1024} KiB in ${windowMs / 1_000} s while others were waiting. Try again, or send the image in the request`;

/** Holds the slot and the memory of one remote image, from the request until the decoded image is stored. */
export class Fetch {
  /** How much memory this image holds. */
  bytes: number = limits.remoteImageBytes;
  #received = 0;
  #windowStart = performance.now();

  constructor(
    readonly account: string,
    /** Aborts the fetch. */
    readonly giveWay: () => void,
  ) {}

  get slow(): boolean {
    return performance.now() - this.#windowStart > windowMs;
  }

  received(bytes: number): void {
    this.#received += bytes;
    if (this.#received < windowBytes) return;
    this.#received = 0;
    this.#windowStart = performance.now();
  }

  /** Call this when the host has sent everything. Later delays are not its fault. */
  complete(): void {
    this.#windowStart = Number.POSITIVE_INFINITY;
  }
}

/**
 * Slots and memory for remote images, which accounts share. Other people's hosts decide how long a fetch takes. When no slot
 * or no memory is free, a slow fetch therefore gives way to an account that is fetching nothing.
 */
export class FetchSlots {
  readonly #slots: FairShares;
  readonly #bytes = new FairShares(maxBytes);
  readonly #running = new Set<Fetch>();

  constructor(slots: number) {
    this.#slots = new FairShares(slots);
  }

  /** Lists the accounts that may not fetch another image now. */
  get exhausted(): SkippedAccounts {
    if (!this.#full) return [...this.#slots.exhausted(), ...this.#bytes.exhausted(limits.remoteImageBytes)];
    return this.#slow.length === 0 ? everyAccount : [...this.#running].map(({ account }) => account);
  }

  /** Takes a slot and memory for an account that is not exhausted. Call `end` when the image is no longer in memory. */
  start(account: string, giveWay: () => void): Fetch {
    for (const fetch of this.#slow) {
      if (!this.#full) break;
      this.end(fetch);
      fetch.giveWay();
    }
    const fetch = new Fetch(account, giveWay);
    this.#slots.take(account);
    this.#bytes.take(account, fetch.bytes);
    this.#running.add(fetch);
    return fetch;
  }

  /** Returns the memory that an image of this length does not need. */
  announced(fetch: Fetch, bytes: number): void {
    if (!this.#running.has(fetch)) return;
    this.#bytes.giveBack(fetch.account, fetch.bytes - bytes);
    fetch.bytes = bytes;
  }

  end(fetch: Fetch): void {
    if (!this.#running.delete(fetch)) return;
    this.#slots.giveBack(fetch.account);
    this.#bytes.giveBack(fetch.account, fetch.bytes);
  }

  get #full(): boolean {
    return this.#slots.free < 1 || this.#bytes.free < limits.remoteImageBytes;
  }

  /** Lists slow fetches, first those of the account that holds most slots. */
  get #slow(): Fetch[] {
    const held = ({ account }: Fetch) => this.#slots.heldBy(account);
    return [...this.#running].filter(({ slow }) => slow).sort((a, b) => held(b) - held(a));
  }
}
