import { FairShares } from '../../base/fair-shares.js';
import { HttpError } from '../answers/responses.js';

const mib = 1024 * 1024;

/**
 * Maximum memory for the request bodies of one server, and for those of the test key, in bytes. A body also exists as
 * text and as a decoded image for a moment, so the process may need up to three times as much.
 */
export const bodyBudgetBytes = { total: 96 * mib, sandbox: 8 * mib };

const tooMany = () =>
  new HttpError(503, 'internal_error', 'The server is reading too many request bodies at the moment; try again later', {
    'retry-after': '1',
  });

/** One request's share of the budget. */
export interface BodyShare {
  /**
   * Enlarges the share to `bytes`, unless it is that large.
   * @throws {HttpError} 503 `internal_error` with `Retry-After` if that would exceed the caller's part of the budget
   */
  growTo(bytes: number): void;
  /** Gives the share back. May be called more than once. */
  release(): void;
}

/** Limits the memory for request bodies. A caller may hold at most as much as stays free, so callers cannot use it up. */
export class BodyBudget {
  readonly #shares: FairShares;

  constructor(bytes = bodyBudgetBytes.total) {
    this.#shares = new FairShares(bytes);
  }

  get free(): number {
    return this.#shares.free;
  }

  /** Opens an empty share. All requests of the caller may hold at most `maxBytes`, if that is less than its part. */
  share(caller: string, maxBytes = Number.POSITIVE_INFINITY): BodyShare {
    const shares = this.#shares;
    let held = 0;
    return {
      growTo: (bytes) => {
        const more = bytes - held;
        if (more <= 0) return;
        // Twice, because the taken bytes are not free afterwards.
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
