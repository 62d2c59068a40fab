interface Waiting {
  account: string;
  amount: number;
  resolve: () => void;
}

/**
 * A capacity that accounts share by a dynamic threshold: an account may take more only while it holds no more than is
 * free. A single account gets at most half, so another account always finds capacity.
 * @see Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", 1998
 */
export class FairShares {
  readonly #held = new Map<string, number>();
  #waiting: Waiting[] = [];
  #free: number;

  constructor(capacity: number) {
    this.#free = capacity;
  }

  get free(): number {
    return this.#free;
  }

  heldBy(account: string): number {
    return this.#held.get(account) ?? 0;
  }

  mayTake(account: string, amount = 1): boolean {
    return this.heldBy(account) + amount <= this.#free;
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
   * Takes `amount` as soon as the account may. Waiting callers are served in order, but a caller over its account's share
   * does not block the others.
   */
  async takeWhenAllowed(account: string, amount: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.mayTake(account, amount)) return this.take(account, amount);
    await new Promise<void>((resolve, reject) => {
      const waiting = { account, amount, resolve };
      this.#waiting.push(waiting);
      signal.addEventListener('abort', () => {
        this.#waiting = this.#waiting.filter((other) => other !== waiting);
        reject(signal.reason);
      });
    });
  }

  #serve(): void {
    for (const waiting of [...this.#waiting]) {
      if (!this.mayTake(waiting.account, waiting.amount)) continue;
      this.#waiting = this.#waiting.filter((other) => other !== waiting);
      this.take(waiting.account, waiting.amount);
      waiting.resolve();
    }
  }
}
