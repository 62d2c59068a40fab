import { HttpError } from './errors.js';

const mib = 1024 * 1024;

/**
 * Memory that the request bodies of one server may take together, in bytes. A body also exists as text and as a decoded
 * image for a moment, so the process may need up to three times as much.
 */
export const bodyBudgetBytes = { total: 96 * mib, account: 64 * mib, sandbox: 8 * mib };

const tooMany = () =>
  new HttpError(503, 'internal_error', 'The server is reading too many request bodies at the moment; try again later', {
    'retry-after': '1',
  });

/** What one request holds of the budget. */
export interface BodyShare {
  /**
   * Makes sure that the share is at least this large.
   * @throws {HttpError} 503 `internal_error` with `Retry-After` if that would exceed the budget or the caller's part of it
   */
  growTo(bytes: number): void;
  /** Gives the share back. May be called more than once. */
  release(): void;
}

/** Limits the memory for request bodies: for all callers together, and for each caller so that none can use up the rest. */
export class BodyBudget {
  readonly #totalBytes: number;
  readonly #byCaller = new Map<string, number>();
  #used = 0;

  constructor(totalBytes = bodyBudgetBytes.total) {
    this.#totalBytes = totalBytes;
  }

  /** Bytes that are taken at the moment. */
  get used(): number {
    return this.#used;
  }

  /** An empty share of a caller who may hold `maxBytes` in all requests together. */
  share(caller: string, maxBytes: number): BodyShare {
    let held = 0;
    const add = (bytes: number) => {
      const left = (this.#byCaller.get(caller) ?? 0) + bytes;
      if (left > 0) this.#byCaller.set(caller, left);
      else this.#byCaller.delete(caller);
      this.#used += bytes;
      held += bytes;
    };
    return {
      growTo: (bytes) => {
        const more = bytes - held;
        if (more <= 0) return;
        if (this.#used + more > this.#totalBytes || (this.#byCaller.get(caller) ?? 0) + more > maxBytes)
          throw tooMany();
        add(more);
      },
      release: () => add(-held),
    };
  }
}
