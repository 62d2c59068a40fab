import { QuotaError, quotas } from '../../data/accounts/quotas.js';
import type { EventState } from '../../data/webhooks/job-events.js';

// Wakes the open event streams. However many there are, one query a second reads the states of their accounts, and a
// notification from this or another process makes it run at once. A stream then reads its events by itself, so that no
// stream waits for a slower one, and no database transaction is open while a stream waits.

/** Time between two queries without a notification. */
const pollMs = 1_000;
/** Minimum time between two queries, so that a busy account's events are read together. */
const minPauseMs = 100;
const retryAfterSeconds = 5;

/** A stream's registration for the events of an account. */
export interface Subscription {
  /** Whether the stream must end. Its client may open another one, which checks the API key again. */
  readonly isEnded: boolean;
  /** Resolves when the account may have new events, when the stream must end, or after `timeoutMs`. */
  changed(timeoutMs: number): Promise<void>;
  close(): void;
}

interface Account {
  /** Undefined until the first query that includes the account. */
  state?: EventState;
  readonly wakers: Set<Waker>;
  /** How many of them are streams, whose number has a limit. */
  streams: number;
}

class Waker {
  isEnded = false;
  #isAwake = false;
  #wake = () => {};

  wake(): void {
    this.#isAwake = true;
    this.#wake();
  }

  end(): void {
    this.isEnded = true;
    this.wake();
  }

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
    this.#isAwake = this.isEnded;
  }
}

export class EventFeed {
  readonly #readStates: (accountIds: readonly string[]) => Promise<EventState[]>;
  readonly #accounts = new Map<string, Account>();
  #timer: NodeJS.Timeout | undefined;
  #isReading = false;
  #readAt = 0;
  #isStopped = false;

  constructor(readStates: (accountIds: readonly string[]) => Promise<EventState[]>) {
    this.#readStates = readStates;
  }

  /** @throws {QuotaError} if the account has as many streams as it may */
  subscribe(accountId: string): Subscription {
    if ((this.#accounts.get(accountId)?.streams ?? 0) >= quotas.streams) {
      const message = `This account reads ${quotas.streams} event streams, which is its limit. Close one of them, or poll`;
      throw new QuotaError(message, retryAfterSeconds);
    }
    return this.#add(accountId, 1);
  }

  /** Subscribes a request that waits for a job. Such requests have a limit of their own. */
  watch(accountId: string): Subscription {
    return this.#add(accountId, 0);
  }

  #add(accountId: string, streams: 0 | 1): Subscription {
    const account: Account = this.#accounts.get(accountId) ?? { wakers: new Set(), streams: 0 };
    const waker = new Waker();
    this.#accounts.set(accountId, account);
    account.wakers.add(waker);
    account.streams += streams;
    if (this.#isStopped) waker.end();
    this.wake();
    return {
      get isEnded() {
        return waker.isEnded;
      },
      changed: (timeoutMs) => waker.changed(timeoutMs),
      close: () => {
        waker.end();
        // A second call must not remove the account that newer subscriptions have added again.
        if (!account.wakers.delete(waker)) return;
        account.streams -= streams;
        if (account.wakers.size === 0) this.#accounts.delete(accountId);
      },
    };
  }

  /** Looks for new events soon. Cheap, and safe to call often. */
  wake(): void {
    this.#readIn(Math.max(0, this.#readAt + minPauseMs - performance.now()));
  }

  /** Ends all streams, and those that are opened later. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    for (const { wakers } of this.#accounts.values()) for (const waker of wakers) waker.end();
  }

  #readIn(ms: number): void {
    if (this.#isReading || this.#isStopped || this.#accounts.size === 0) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#read(), ms).unref();
  }

  async #read(): Promise<void> {
    const accounts = [...this.#accounts];
    if (accounts.length === 0) return;
    this.#isReading = true;
    this.#readAt = performance.now();
    try {
      const states = await this.#readStates(accounts.map(([id]) => id));
      const stateOf = new Map(states.map((state) => [state.id, state]));
      for (const [id, account] of accounts) update(account, stateOf.get(id));
    } catch {
      // The database is unavailable, which its own log line says. The streams notice when they read.
    } finally {
      this.#isReading = false;
      this.#readIn(pollMs);
    }
  }
}

/** Wakes the streams of an account if it has new events, and ends them if it was deleted or one of its keys revoked. */
function update(account: Account, state: EventState | undefined): void {
  const { state: previous, wakers } = account;
  const isRevoked = !state || (previous !== undefined && previous.key_revoked_at !== state.key_revoked_at);
  const isChanged = previous?.last_event_at !== state?.last_event_at;
  for (const waker of wakers) {
    if (isRevoked) waker.end();
    else if (isChanged) waker.wake();
  }
  if (state) account.state = state;
}
