import { FairShares } from '../../base/fair-shares.js';
import { HttpError } from './errors.js';

const mib = 1024 * 1024;

/**
 * Memory that all request bodies of one server, and those of the test key, may take, in bytes. A body also exists as text
 * and as a decoded image for a moment, so the process may need up to three times as much.
 */
export const bodyBudgetBytes = { total: 96 * mib, sandbox: 8 * mib };

const tooMany = () =>
  new HttpError(503, 'internal_error', 'The server is reading too many request bodies at the moment; try again later', {
    'retry-after': '1',
  });

/** One request's share of the budget. */
export interface BodyShare {
  /**
   * Makes sure that the share is at least this large.
   * @throws {HttpError} 503 `internal_error` with `Retry-After` if that would exceed the caller's part of the budget
   */
  growTo(bytes: number): void;
  /** Gives the share back. May be called more than once. */
  release(): void;
}

/** Limits the memory for request bodies. A caller may hold at most what stays free, so no number of callers uses it up. */
export class BodyBudget {
  readonly #shares: FairShares;

  constructor(bytes = bodyBudgetBytes.total) {
    this.#shares = new FairShares(bytes);
  }

  get free(): number {
    return this.#shares.free;
  }

  /**
   * An empty share for a caller that may hold at most `maxBytes` in all requests together, if that is less than its
   * part.
   */
  share(caller: string, maxBytes = Number.POSITIVE_INFINITY): BodyShare {
    const shares = this.#shares;
    let held = 0;
    return {
      growTo: (bytes) => {
        const more = bytes - held;
        if (more <= 0) return;
        // Twice, because what it takes is not free afterwards.
        if (shares.heldBy(caller) + more > maxBytes || !shares.mayTake(caller, 2 * more)) throw tooMany();
        shares.take(caller, more);
        held = bytes;
      },
      release: () => {
        shares.giveBack(caller, held);
        held = 0;
      },
    };
  }
}
