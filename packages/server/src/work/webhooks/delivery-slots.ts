/** Maximum number of concurrent deliveries. Each has its own connection. */
const defaultTotal = 512;
const maxPerAccount = 8;
/** A receiver that takes longer is late, and gets fewer slots because it holds each for longer. */
const promptMs = 2_000;

interface Account {
  /** How many deliveries it may have in flight. */
  limit: number;
  /** Undefined until its first delivery has ended. */
  wasLate: boolean | undefined;
  inFlight: Set<Slot>;
}

/** One delivery holds this slot. */
export interface Slot {
  readonly accountId: string;
  readonly since: number;
}

/** Says how a delivery ended. */
export interface Outcome {
  succeeded: boolean;
  /** How long the receiver took. */
  tookMs: number;
}

const newAccount = (): Account => ({ limit: 1, wasLate: undefined, inFlight: new Set() });

/** Says whether a receiver is late, which a delivery in flight can already show. Undefined if that is not known yet. */
function isLate({ wasLate, inFlight }: Account, now: number): boolean | undefined {
  for (const { since } of inFlight) if (now - since > promptMs) return true;
  return wasLate;
}

/**
 * Decides how many concurrent deliveries each account may have. A delivery holds its slot for as long as the receiver
 * takes to respond, and a dead receiver takes the whole timeout. Prompt receivers must not wait for late ones:
 *
 * - An account starts with one slot. Each delivery that succeeds doubles its limit, up to 8. A failure resets it to one.
 * - Late receivers hold at most half of all slots; together with accounts of unknown speed, three quarters.
 * - The last quarter of the slots is reserved for accounts without a delivery in flight.
 *
 * Times are milliseconds since 1970.
 */
export class DeliverySlots {
  readonly #accounts = new Map<string, Account>();
  readonly #busy = new Set<Account>();
  readonly #total: number;
  readonly #half: number;
  readonly #threeQuarters: number;

  constructor(total = defaultTotal) {
    this.#total = total;
    this.#half = Math.floor(total / 2);
    this.#threeQuarters = Math.floor((3 * total) / 4);
  }

  /** True if another delivery to the account may start now. */
  isAvailable(accountId: string, now: number): boolean {
    let all = 0;
    let late = 0;
    let unknown = 0;
    for (const account of this.#busy) {
      const { size } = account.inFlight;
      all += size;
      const lateness = isLate(account, now);
      if (lateness) late += size;
      else if (lateness === undefined) unknown += size;
    }
    const account = this.#accounts.get(accountId) ?? newAccount();
    const own = account.inFlight.size;
    const lateness = isLate(account, now);
    return (
      own < account.limit &&
      all < this.#total &&
      (own === 0 || all < this.#threeQuarters) &&
      (lateness === false || late + unknown < this.#threeQuarters) &&
      (!lateness || late < this.#half)
    );
  }

  take(accountId: string, now: number): Slot {
    const account = this.#account(accountId);
    const slot = { accountId, since: now };
    account.inFlight.add(slot);
    this.#busy.add(account);
    return slot;
  }

  /** Frees a slot. Without an outcome, the account's limit and lateness stay as they are. */
  release(slot: Slot, outcome?: Outcome): void {
    const account = this.#account(slot.accountId);
    account.inFlight.delete(slot);
    if (account.inFlight.size === 0) this.#busy.delete(account);
    if (!outcome) return;
    account.limit = outcome.succeeded ? Math.min(2 * account.limit, maxPerAccount) : 1;
    account.wasLate = outcome.tookMs > promptMs;
  }

  /** Treats an account as late until a delivery shows that it is prompt. */
  assumeLate(accountId: string): void {
    this.#account(accountId).wasLate = true;
  }

  #account(accountId: string): Account {
    const account = this.#accounts.get(accountId) ?? newAccount();
    this.#accounts.set(accountId, account);
    return account;
  }
}
