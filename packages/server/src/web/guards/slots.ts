import type { Response } from 'express';
import { FairShares } from '../../base/fair-shares.js';
import { HttpError } from '../answers/responses.js';

/**
 * Limits how many requests do an expensive part of their work at the same time. The others wait in order; an account holds
 * at most half of the slots, so it delays only itself. A waiting request costs no more than its connection, so waiting is
 * better than a refusal: the dashboard of an account sends several requests at once.
 */
export class Slots {
  readonly #shares: FairShares;

  constructor(count: number) {
    this.#shares = new FairShares(count);
  }

  /** Runs `work` in a slot of an account. Rejects if the client disconnects before. */
  async run<T>(accountId: string, response: Response, work: () => Promise<T>): Promise<T> {
    const disconnected = new AbortController();
    const abort = () => disconnected.abort(new HttpError(400, 'invalid_request', 'the connection closed'));
    if (response.closed) abort();
    response.once('close', abort);
    await this.#shares.takeWhenAllowed(accountId, 1, disconnected.signal);
    try {
      return await work();
    } finally {
      response.off('close', abort);
      // SQLite's queries block the event loop. Between two of them, the requests of others have their turn.
      setImmediate(() => this.#shares.giveBack(accountId));
    }
  }
}

/** Creates the slots of one server. */
export const createSlots = () => ({
  /** Lists for people. One at a time per account, two of all accounts, so most database connections stay free. */
  lists: new Slots(2),
  /** Stored photos and models that are being sent, each with a buffer and, with S3, one of the SDK's 50 connections. */
  files: new Slots(32),
  /** Retries: one at a time per account, so concurrent ones of a job do not each copy its photo. */
  retries: new Slots(2),
});
