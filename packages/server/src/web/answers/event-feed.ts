import { setTimeout as pause } from 'node:timers/promises';
import { coalesced } from '../../base/coalesced.js';
import type { EventState } from '../../data/webhooks/events.js';

// Wakes the open event streams. However many there are, one look a second at the database reads the states of their
// accounts and which of their API keys are still valid, and a notification from this or another process makes it
// happen at once. A stream then reads its events by itself, so that no stream waits for a slower one, and no database
// transaction is open while a stream waits.

/** Time between two looks without a notification. */
const pollMs = 1_000;
/** Minimum time between two looks, so that a busy account's events are read together. */
const minPauseMs = 100;

/** Reads from the database what the feed needs. */
export interface FeedSource {
  /** Reads the states of these accounts. Deleted accounts have none. */
  readStates(accountIds: readonly string[]): Promise<readonly EventState[]>;
  /** Returns those of the API keys that are still valid. */
  findValidKeys(ids: readonly string[]): Promise<ReadonlySet<string>>;
}

/** An account that reads events, and the API key that admitted it. Streams of the public test key have none. */
export interface Reader {
  accountId: string;
  keyId?: string | undefined;
}

/** A registration for the events of an account. */
export class Subscription {
  readonly reader: Reader;
  readonly close: () => void;
  #isEnded = false;
  #isAwake = false;
  #wake = () => {};

  constructor(reader: Reader, close: () => void) {
    this.reader = reader;
    this.close = close;
  }

  /** Whether the reader must stop: its API key was revoked, the account is gone, or the server stops. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  wake(): void {
    this.#isAwake = true;
    this.#wake();
  }

  end(): void {
    this.#isEnded = true;
    this.wake();
  }

  /** Resolves when the account may have new events, when the reader must stop, or after `timeoutMs`. */
  async changed(timeoutMs: number): Promise<void> {
    if (!this.#isAwake) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, timeoutMs);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#isAwake = this.#isEnded;
  }
}

export class EventFeed {
  readonly #source: FeedSource;
  readonly #subscriptions = new Set<Subscription>();
  readonly #look = coalesced(() => this.#readAndRest());
  /** The time of each account's last event, by its id. */
  #lastEvents: ReadonlyMap<string, number> = new Map();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(source: FeedSource) {
    this.#source = source;
  }

  subscribe(reader: Reader): Subscription {
    const subscription = new Subscription(reader, () => {
      subscription.end();
      this.#subscriptions.delete(subscription);
    });
    this.#subscriptions.add(subscription);
    if (this.#isStopped) subscription.end();
    else this.#timer ??= setInterval(() => this.wake(), pollMs).unref();
    this.wake();
    return subscription;
  }

  /** Looks for new events soon. Cheap, and safe to call often. */
  wake(): void {
    if (!this.#isStopped) void this.#look();
  }

  /** Ends all streams, and those that are opened later. */
  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
    for (const subscription of this.#subscriptions) subscription.end();
  }

  /** Never rejects. */
  async #readAndRest(): Promise<void> {
    // The database may be unavailable, which its own log line says. The streams notice when they read.
    await this.#read().catch(() => {});
    await pause(minPauseMs, undefined, { ref: false });
  }

  async #read(): Promise<void> {
    const subscriptions = [...this.#subscriptions];
    if (subscriptions.length === 0) return;
    const readers = subscriptions.map(({ reader }) => reader);
    const states = await this.#source.readStates([...new Set(readers.map(({ accountId }) => accountId))]);
    const valid = await this.#source.findValidKeys(readers.flatMap(({ keyId }) => keyId ?? []));
    const lastEvents = new Map(states.map(({ id, last_event_at }) => [id, last_event_at]));
    const asked = new Set(subscriptions);
    for (const subscription of this.#subscriptions) {
      const { accountId, keyId } = subscription.reader;
      const lastEvent = lastEvents.get(accountId);
      // It may have read its events before this look at the database.
      if (!asked.has(subscription)) subscription.wake();
      else if (lastEvent === undefined || (keyId !== undefined && !valid.has(keyId))) subscription.end();
      else if (lastEvent !== this.#lastEvents.get(accountId)) subscription.wake();
    }
    this.#lastEvents = lastEvents;
  }
}
