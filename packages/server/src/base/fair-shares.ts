interface Waiting {
  amount: number;
  resolve: () => void;
}

export interface FairSharesOptions {
  /** The largest share of an account, if that is less than half. */
  maxPerAccount?: number;
  /** How many callers of an account may wait. */
  maxWaiting?: number;
  /** Lets an account take all free capacity. This suits short work, for whose end another account can wait. */
  takesAll?: boolean;
}

/** Thrown to a caller whose account has as many others waiting as it may. */
export class QueueFullError extends Error {
  override readonly name = 'QueueFullError';
}

/**
 * A capacity that accounts share by a dynamic threshold: an account may take more only while it holds no more than is
 * free. A single account gets at most half, so another account always finds capacity. Accounts whose callers wait take
 * turns, so an account waits for one caller of each other account, however many of them there are.
 * @see Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", 1998
 */
export class FairShares {
  readonly #held = new Map<string, number>();
  /** Each account's callers in the order of their arrival. The account whose turn is next is the first. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #maxPerAccount: number;
  readonly #maxWaiting: number;
  readonly #takesAll: boolean;
  #free: number;

  constructor(
    capacity: number,
    { maxPerAccount = capacity, maxWaiting = 1_000, takesAll = false }: FairSharesOptions = {},
  ) {
    this.#free = capacity;
    this.#maxPerAccount = maxPerAccount;
    this.#maxWaiting = maxWaiting;
    this.#takesAll = takesAll;
  }

  get free(): number {
    return this.#free;
  }

  heldBy(account: string): number {
    return this.#held.get(account) ?? 0;
  }

  mayTake(account: string, amount = 1): boolean {
    const held = this.heldBy(account);
    const kept = this.#takesAll ? 0 : held;
    return amount <= this.#free - kept && held + amount <= this.#maxPerAccount;
  }

  /** Returns the accounts that hold capacity and may not take this amount in addition. */
  exhausted(amount = 1): string[] {
    return [...this.#held.keys()].filter((account) => !this.mayTake(account, amount));
  }

  take(account: string, amount = 1): void {
    this.#held.set(account, this.heldBy(account) + amount);
    this.#free -= amount;
  }

  giveBack(account: string, amount = 1): void {
    const held = this.heldBy(account) - amount;
    if (held > 0) this.#held.set(account, held);
    else this.#held.delete(account);
    this.#free += amount;
    this.#serve();
  }

  /**
   * Takes `amount` as soon as the account may. Callers of an account are served in order, and accounts in turn. An account
   * over its share does not block the others.
   * @throws {QueueFullError} if too many callers of the account wait already
   */
  async takeWhenAllowed(account: string, amount: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const queue = this.#waiting.get(account) ?? [];
    if (queue.length === 0 && this.mayTake(account, amount)) return this.take(account, amount);
    if (queue.length >= this.#maxWaiting) throw new QueueFullError(`${queue.length} callers of this account wait`);
    await new Promise<void>((resolve, reject) => {
      const abort = () => {
        queue.splice(queue.indexOf(waiting), 1);
        if (queue.length === 0) this.#waiting.delete(account);
        reject(signal.reason);
        this.#serve();
      };
      const waiting: Waiting = {
        amount,
        resolve: () => {
          signal.removeEventListener('abort', abort);
          resolve();
        },
      };
      queue.push(waiting);
      this.#waiting.set(account, queue);
      signal.addEventListener('abort', abort, { once: true });
    });
  }

  /** Serves one caller of each account that may take more, until none may. */
  #serve(): void {
    let isAnyServed: boolean;
    do {
      isAnyServed = false;
      for (const [account, queue] of [...this.#waiting]) {
        const [next] = queue;
        if (next === undefined || !this.mayTake(account, next.amount)) continue;
        queue.shift();
        // Last in line for the next turn.
        this.#waiting.delete(account);
        if (queue.length > 0) this.#waiting.set(account, queue);
        this.take(account, next.amount);
        next.resolve();
        isAnyServed = true;
      }
    } while (isAnyServed);
  }
}
