export interface SharesOptions {
  /** The number of places or bytes that all holders share. */
  total: number;
  /** The largest share of one holder, if that is less than half. */
  perHolder?: number;
  /** A holder of less may take all that is free, and what others give up. Default: an eighth, at most 8. */
  guaranteed?: number;
  /** After this time without progress, a share may give way. Default: never. */
  giveWayAfterMs?: number;
}

/** Tells how the work that a share is held for can end early, and whether it makes progress. */
export interface Work {
  /** Ends the work, because another holder gets its share. Without it, the share never gives way. */
  giveWay?: () => void;
  /** Counts the bytes that the work has sent or received. */
  progress?: () => number;
}

/** Work that sends or receives so many bytes makes progress. */
const progressBytes = 64 * 1024;
/** Time between two attempts of a waiting caller to find a share that gives way. */
const checkMs = 1_000;

/**
 * A capacity that holders share, such as accounts, by one rule:
 *
 * - A holder may take more while it then holds no more than is free (Choudhury and Hahne, "Dynamic Queue Length
 *   Thresholds for Shared-Memory Packet Switches", 1998). One holder alone thus gets at most half.
 * - A holder of less than the guaranteed share may take all that is free. If that is too little, others give way: those
 *   that have made no progress for a while, first those of the holder that has most.
 * - Holders whose callers wait take turns, so a holder waits for one caller of each other holder.
 */
export class Shares {
  readonly #perHolder: number;
  readonly #guaranteed: number;
  readonly #giveWayAfterMs: number;
  readonly #held = new Map<string, number>();
  /** The oldest first. */
  readonly #shares = new Set<Share>();
  /** Each holder's callers in the order of their arrival. The holder whose turn is next is the first. */
  readonly #waiting = new Map<string, { work: Work; resolve: (share: Share) => void }[]>();
  #free: number;

  constructor({ total, perHolder, guaranteed, giveWayAfterMs }: SharesOptions) {
    this.#perHolder = perHolder ?? total;
    this.#guaranteed = guaranteed ?? Math.max(1, Math.min(8, Math.floor(total / 8)));
    this.#giveWayAfterMs = giveWayAfterMs ?? Number.POSITIVE_INFINITY;
    this.#free = total;
  }

  get free(): number {
    return this.#free;
  }

  get holders(): string[] {
    return [...this.#held.keys()];
  }

  heldBy(holder: string): number {
    return this.#held.get(holder) ?? 0;
  }

  mayTake(holder: string, amount = 1): boolean {
    const held = this.heldBy(holder);
    if (held + amount > this.#perHolder) return false;
    if (held >= this.#guaranteed) return held + amount <= this.#free - amount;
    const given = amount <= this.#free ? 0 : this.#slow(holder).reduce((sum, share) => sum + share.amount, 0);
    return amount <= this.#free + given;
  }

  /** Takes a share if the holder may. */
  take(holder: string, amount = 1, work: Work = {}): Share | undefined {
    if (!this.#reserve(holder, amount)) return undefined;
    const share: Share = new Share(holder, amount, work, {
      resize: (more) => !this.#shares.has(share) || this.#reserve(holder, more),
      end: () => {
        this.#release(share);
        this.#serve();
      },
    });
    this.#shares.add(share);
    return share;
  }

  /** Takes a share of 1 as soon as the holder may, unless `signal` is aborted before. */
  wait(holder: string, signal: AbortSignal, work: Work = {}): Promise<Share> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const queue = this.#waiting.get(holder) ?? [];
      const timer = Number.isFinite(this.#giveWayAfterMs) ? setInterval(() => this.#serve(), checkMs) : undefined;
      const abort = () => {
        clearInterval(timer);
        queue.splice(queue.indexOf(waiting), 1);
        if (queue.length === 0) this.#waiting.delete(holder);
        reject(signal.reason);
      };
      const waiting = {
        work,
        resolve: (share: Share) => {
          clearInterval(timer);
          signal.removeEventListener('abort', abort);
          resolve(share);
        },
      };
      signal.addEventListener('abort', abort, { once: true });
      queue.push(waiting);
      this.#waiting.set(holder, queue);
      this.#serve();
    });
  }

  /** Serves one caller of each holder that may take more, until none may. */
  #serve(): void {
    let isAnyServed: boolean;
    do {
      isAnyServed = false;
      for (const [holder, queue] of [...this.#waiting]) {
        const share = queue[0] && this.take(holder, 1, queue[0].work);
        if (!share) continue;
        queue.shift()?.resolve(share);
        // Last in line for the next turn.
        this.#waiting.delete(holder);
        if (queue.length > 0) this.#waiting.set(holder, queue);
        isAnyServed = true;
      }
    } while (isAnyServed);
  }

  #reserve(holder: string, amount: number): boolean {
    if (amount > 0 && !this.mayTake(holder, amount)) return false;
    for (const share of amount <= this.#free ? [] : this.#slow(holder)) {
      if (amount <= this.#free) break;
      this.#release(share);
      share.work.giveWay?.();
    }
    this.#add(holder, amount);
    return true;
  }

  #release(share: Share): void {
    if (this.#shares.delete(share)) this.#add(share.holder, -share.amount);
  }

  #add(holder: string, amount: number): void {
    const held = this.heldBy(holder) + amount;
    if (held > 0) this.#held.set(holder, held);
    else this.#held.delete(holder);
    this.#free -= amount;
  }

  /** Lists the shares that may give way to a holder, first those of the holder that has most. */
  #slow(holder: string): Share[] {
    if (!Number.isFinite(this.#giveWayAfterMs)) return [];
    const slow = [...this.#shares].filter(
      (share) => share.holder !== holder && !share.isKept && share.work.giveWay && share.idleMs > this.#giveWayAfterMs,
    );
    return slow.sort((a, b) => this.heldBy(b.holder) - this.heldBy(a.holder));
  }
}

/** The part of a capacity that a piece of work holds. */
export class Share {
  readonly holder: string;
  readonly work: Work;
  /** While true, the share does not give way. */
  isKept = false;
  readonly #shares: { resize(more: number): boolean; end(): void };
  #amount: number;
  #progress = 0;
  #since = performance.now();

  constructor(holder: string, amount: number, work: Work, shares: { resize(more: number): boolean; end(): void }) {
    this.holder = holder;
    this.work = work;
    this.#amount = amount;
    this.#shares = shares;
  }

  get amount(): number {
    return this.#amount;
  }

  /** The time since the work began or made progress, as far as that was asked before. */
  get idleMs(): number {
    const progress = this.work.progress?.() ?? 0;
    if (progress - this.#progress >= progressBytes) {
      this.#progress = progress;
      this.restart();
    }
    return performance.now() - this.#since;
  }

  /** Treats the work as if it had just begun. */
  restart(): void {
    this.#since = performance.now();
  }

  /** Changes the amount. Returns false, and changes nothing, if the holder may not take so much more. */
  resize(amount: number): boolean {
    if (!this.#shares.resize(amount - this.#amount)) return false;
    this.#amount = amount;
    return true;
  }

  /** Gives the share back. May be called more than once. */
  end(): void {
    this.#shares.end();
  }
}
