import { performance } from 'node:perf_hooks';
import type { Response } from 'express';
import { FairShares } from '../../base/fair-shares.js';
import { HttpError } from '../answers/responses.js';

/**
 * Limits how many requests do an expensive part of their work at the same time. The others wait in order; an account holds
 * at most half of the slots, so it delays only itself. A waiting request costs no more than its connection, so waiting is
 * better than a refusal: the dashboard of an account sends several requests at once.
 *
 * A client decides how long a response takes that it reads slowly. With `maxMs`, one that holds a slot for longer gives way
 * when none is free: its connection is closed for an account that holds no slot.
 *
 * SQLite's queries block the event loop, and Node accepts one connection per turn of it. With `rest`, a slot therefore stays
 * taken for that many times as long as the event loop was busy during the work. Otherwise, when lists arrive faster
 * than they are finished, new connections would wait for tens of seconds to be accepted.
 */
export class Slots {
  readonly #shares: FairShares;
  readonly #maxMs: number;
  readonly #rest: number;
  /** The oldest first. */
  readonly #running = new Set<{ accountId: string; response: Response; startedAt: number }>();

  constructor(count: number, { maxMs = Number.POSITIVE_INFINITY, rest = 0 }: { maxMs?: number; rest?: number } = {}) {
    this.#shares = new FairShares(count);
    this.#maxMs = maxMs;
    this.#rest = rest;
  }

  /** Runs `work` in a slot of an account. Rejects if the client disconnects before. */
  async run<T>(accountId: string, response: Response, work: () => Promise<T>): Promise<T> {
    const disconnected = new AbortController();
    const abort = () => disconnected.abort(new HttpError(400, 'invalid_request', 'the connection closed'));
    if (response.closed) abort();
    response.once('close', abort);
    const timer = setInterval(() => this.#makeRoomFor(accountId), Math.min(this.#maxMs, checkMs));
    this.#makeRoomFor(accountId);
    await this.#shares.takeWhenAllowed(accountId, 1, disconnected.signal).finally(() => clearInterval(timer));
    const running = { accountId, response, startedAt: performance.now() };
    this.#running.add(running);
    const before = performance.eventLoopUtilization();
    try {
      return await work();
    } finally {
      this.#running.delete(running);
      response.off('close', abort);
      const giveBack = () => this.#shares.giveBack(accountId);
      // A timer takes at least a millisecond, and without a turn of the event loop, waiting work would block it.
      if (this.#rest === 0) setImmediate(giveBack);
      else setTimeout(giveBack, this.#rest * performance.eventLoopUtilization(before).active);
    }
  }

  /** Closes the oldest slow response of the account that holds most slots, if this one holds none and none is free. */
  #makeRoomFor(accountId: string): void {
    if (this.#shares.free > 0 || this.#shares.heldBy(accountId) > 0) return;
    const held = (running: { accountId: string }) => this.#shares.heldBy(running.accountId);
    const slow = [...this.#running].filter(({ startedAt }) => performance.now() - startedAt > this.#maxMs);
    slow.sort((a, b) => held(b) - held(a))[0]?.response.destroy();
  }
}

/** Time between two attempts of a waiting request to find a slow response. */
const checkMs = 1_000;

export const createSlots = () => ({
  /**
   * Lists for people. One at a time per account, two of all accounts, so most database connections stay free. Each slot
   * takes at most a quarter of the event loop.
   */
  lists: new Slots(2, { rest: 3 }),
  /** Stored photos and models that are being sent, each with a buffer and, with S3, one of the SDK's 50 connections. */
  files: new Slots(32, { maxMs: 10_000 }),
  /** Retries: one at a time per account, so concurrent ones of a job do not each copy its photo. */
  retries: new Slots(2),
  /** Deletions wait for the disk several times, with a connection to the database. One at a time per account. */
  deletions: new Slots(2),
  /** Changes to jobs. An account's concurrent changes would wait for each other's rows, each holding a connection. */
  changes: new Slots(2),
});
