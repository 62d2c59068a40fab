import type { ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import { FairShares } from '../../base/fair-shares.js';
import type { RateLimit } from '../../data/db/database.js';
import { HttpError, TooManyRequestsError } from '../answers/responses.js';
import { clientOf } from './client-address.js';
import { waitsForClient } from './slow-clients.js';

/**
 * Limits the requests in progress of one server: from their arrival until their response is closed, so also while they
 * wait for a slot, for the database or for their client. Each holder, a client or an account, has at most `maxPerHolder`,
 * and no more than stay free for the others. A server with a total below its number of connections can therefore always
 * accept another client: the other connections are idle and can be closed (`evictWaitingConnections`).
 *
 * Clients with many addresses can take the whole total, without sending the bodies or reading the responses. For a
 * holder without a request, the oldest request that waits for its client is then closed.
 */
export class RequestsInProgress {
  readonly #shares: FairShares;
  /** The oldest first. */
  readonly #responses = new Set<ServerResponse>();

  constructor({ total = maxRequestsInProgress, maxPerHolder = total }: { total?: number; maxPerHolder?: number }) {
    this.#shares = new FairShares(total, { maxPerAccount: maxPerHolder });
  }

  /**
   * Counts a request of `holder` until its response is closed.
   * @throws {TooManyRequestsError} if the holder has as many as it may, or the total is taken by requests that the
   *   server is working on
   */
  begin(holder: string, response: ServerResponse): void {
    // No event would follow.
    if (response.closed) throw new HttpError(400, 'invalid_request', 'the connection closed');
    if (!this.#shares.mayTake(holder)) this.#makeRoomFor(holder);
    this.#shares.take(holder);
    this.#responses.add(response);
    response.once('close', () => {
      this.#responses.delete(response);
      this.#shares.giveBack(holder);
    });
  }

  #makeRoomFor(holder: string): void {
    const slow = this.#shares.heldBy(holder) === 0 && [...this.#responses].find(waitsForClient);
    if (!slow) throw new TooManyRequestsError(retryAfterSeconds);
    // It counts until it has closed. In the meantime, it must not be found again.
    this.#responses.delete(slow);
    slow.destroy();
  }
}

/** Two thirds of the connections at which `createHttpServer` begins to close idle ones. */
const maxRequestsInProgress = 1_024;

const retryAfterSeconds = 1;

/** The requests that a client and an account may have in progress, unless the burst of the rate limit is larger. */
const minPerHolder = 64;

/** All requests of a permitted burst may be in progress at once. */
export const maxInProgress = (rateLimit: RateLimit | 'off'): number =>
  rateLimit === 'off' ? minPerHolder : Math.max(minPerHolder, rateLimit.burst);

/**
 * Parts of `maxRequestsInProgress` for clients, by the kind of route. Anyone can download models slowly from many
 * addresses, which must not affect the routes for callers and the probes.
 */
const clientTotals = { probe: 128, anyone: 256, caller: 640 };

/** Returns a guard that counts the requests in progress of clients at one kind of route. */
export function countClients(kind: keyof typeof clientTotals, rateLimit: RateLimit | 'off'): RequestHandler {
  const requests = new RequestsInProgress({ total: clientTotals[kind], maxPerHolder: maxInProgress(rateLimit) });
  return (request, response, next) => {
    requests.begin(clientOf(request), response);
    next();
  };
}
