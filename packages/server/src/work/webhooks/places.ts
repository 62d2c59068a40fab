/** Deliveries under way at once, in all. Each is a connection of its own. */
const defaultTotal = 512;
const mostPerAccount = 8;
/** A receiver that takes longer is late: it holds its places for too long to be given whatever is free. */
const promptMs = 2_000;

interface Account {
  /** How many deliveries it may have under way at once. */
  places: number;
  /** Undefined until its first delivery has ended. */
  wasLate: boolean | undefined;
  underWay: Set<Place>;
}

/** One delivery under way. */
export interface Place {
  readonly accountId: string;
  readonly since: number;
}

/** How a delivery ended. */
export interface Ending {
  succeeded: boolean;
  /** How long the receiver took. */
  tookMs: number;
}

const newAccount = (): Account => ({ places: 1, wasLate: undefined, underWay: new Set() });

/** Late, prompt, or undefined: who is being waited for is late before the end. */
function isLate({ wasLate, underWay }: Account, now: number): boolean | undefined {
  for (const { since } of underWay) if (now - since > promptMs) return true;
  return wasLate;
}

/**
 * Decides how many deliveries each account may have under way. A place is held for as long as the receiver takes, and a
 * dead one takes all the time it is given; who answers promptly shall not wait for those that don't.
 *
 * - An account begins with one place. Each delivery that succeeds doubles its places, up to 8; one that fails leaves it one.
 * - Late receivers hold at most half of all places; together with those that nobody knows yet, three quarters.
 * - The last quarter of the places is only for the first delivery of an account that has none under way.
 *
 * Times are milliseconds since 1970.
 */
export class Places {
  readonly #accounts = new Map<string, Account>();
  readonly #busy = new Set<Account>();
  readonly #half: number;
  readonly #threeQuarters: number;

  constructor(readonly total = defaultTotal) {
    this.#half = Math.floor(total / 2);
    this.#threeQuarters = Math.floor((3 * total) / 4);
  }

  /** Whether one more delivery of an account may begin now. */
  hasRoom(accountId: string, now: number): boolean {
    let all = 0;
    let late = 0;
    let unknown = 0;
    for (const account of this.#busy) {
      const { size } = account.underWay;
      all += size;
      const lateness = isLate(account, now);
      if (lateness) late += size;
      else if (lateness === undefined) unknown += size;
    }
    const account = this.#accounts.get(accountId) ?? newAccount();
    const mine = account.underWay.size;
    const lateness = isLate(account, now);
    return (
      mine < account.places &&
      all < this.total &&
      (mine === 0 || all < this.#threeQuarters) &&
      (lateness === false || late + unknown < this.#threeQuarters) &&
      (!lateness || late < this.#half)
    );
  }

  /** A delivery begins. */
  take(accountId: string, now: number): Place {
    const account = this.#known(accountId);
    const place = { accountId, since: now };
    account.underWay.add(place);
    this.#busy.add(account);
    return place;
  }

  /** A delivery is over. Without an ending nothing is learnt about its receiver. */
  release(place: Place, ending?: Ending): void {
    const account = this.#known(place.accountId);
    account.underWay.delete(place);
    if (account.underWay.size === 0) this.#busy.delete(account);
    if (!ending) return;
    account.places = ending.succeeded ? Math.min(2 * account.places, mostPerAccount) : 1;
    account.wasLate = ending.tookMs > promptMs;
  }

  /** Takes an account for late until it is seen to be prompt. */
  distrust(accountId: string): void {
    this.#known(accountId).wasLate = true;
  }

  #known(accountId: string): Account {
    const account = this.#accounts.get(accountId) ?? newAccount();
    this.#accounts.set(accountId, account);
    return account;
  }
}
