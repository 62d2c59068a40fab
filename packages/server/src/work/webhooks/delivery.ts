import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { limits, signatureHeader, timestampHeader } from '@gen3d/schema';
import type { Logger } from 'pino';
import { type Dispatcher, request } from 'undici';
import type { Db } from '../../data/db/open.js';
import type { OutboxRow } from '../../data/db/tables.js';
import { currentTime } from '../../data/db/time.js';
import { transaction } from '../../data/db/transaction.js';
import { isUnavailable, whyFailed } from '../../data/db/unavailable.js';
import { type Exchange, logDelivery } from '../../data/webhooks/delivery-log.js';
import type { Endpoint, Endpoints } from '../../data/webhooks/endpoints.js';
import { accountsWithFailures, claimDeliveries, nextDue, postpone, settle } from '../../data/webhooks/outbox.js';
import { beginningOf } from './beginning-of-body.js';
import { connectionFailure } from './connection-failure.js';
import { eventBody } from './event-body.js';
import { type Ending, type Place, Places } from './places.js';
import { retryAt } from './retry-schedule.js';
import { sign } from './signature.js';

/** A delivery takes at most the time to connect and to answer, 10 s each; one that is silent for longer died with its process. */
const leaseMs = 3 * limits.webhookTimeoutMs;
/** Looking holds up the event loop; after each look so much more time is left to others, however many accounts wait. */
const restFactor = 4;
/** Events that other processes record are seen at the latest after this. */
const pollMs = 500;

export interface DeliveryOptions {
  db: Db;
  endpoints: Endpoints;
  dispatcher: Dispatcher;
  assetsUrl: () => string;
  /** Seconds before each retry. */
  retryDelays: readonly number[];
  log: Logger;
  onOutcome: (outcome: 'delivered' | 'failed' | 'dead' | 'dropped') => void;
  /** Who may have how many deliveries under way. Default: 512 in all. */
  places?: Places;
}

/** Delivers the outbox: at least once, signed with the secret that is current when the delivery goes out. */
export class Delivery {
  readonly #options: DeliveryOptions;
  readonly #places: Places;
  readonly #running = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #again = false;
  #stopped = false;

  constructor(options: DeliveryOptions) {
    this.#options = options;
    this.#places = options.places ?? new Places();
  }

  async start(): Promise<void> {
    // Receivers that were dead before this process began shall not all be given the benefit of the doubt at once.
    for (const accountId of await accountsWithFailures(this.#options.db)) this.#places.distrust(accountId);
    this.#timer = setInterval(() => this.wake(), pollMs);
    this.wake();
  }

  /** Looks for due deliveries now. Cheap, and safe to call often. */
  wake(): void {
    if (this.#stopped) return;
    if (this.#looking) {
      this.#again = true;
      return;
    }
    this.#again = false;
    const began = performance.now();
    this.#looking = this.#look()
      .catch((error: unknown) => {
        // That the database is away has been logged.
        if (!isUnavailable(error)) this.#options.log.error({ err: error }, 'cannot read the outbox');
      })
      .then(() => pause(Math.min(restFactor * (performance.now() - began), pollMs)))
      .finally(() => {
        this.#looking = undefined;
        if (this.#again) this.wake();
      });
  }

  /** Starts no more deliveries and waits for those under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#looking;
    await Promise.allSettled(this.#running);
  }

  async #look(): Promise<void> {
    const { db } = this.#options;
    while (!this.#stopped) {
      const now = Date.now();
      // One of each account in turn, so that nobody's backlog takes the places before others have had one.
      const chosen = new Map<number, Place>();
      for (const { seq, account_id } of await nextDue(db, currentTime(db))) {
        if (this.#places.hasRoom(account_id, now)) chosen.set(seq, this.#places.take(account_id, now));
      }
      if (chosen.size === 0) return;
      try {
        const claimed = await claimDeliveries(db, [...chosen.keys()], leaseMs, currentTime(db));
        // Another transaction holds all of these. Looking again at once would find the same.
        if (claimed.length === 0) return;
        for (const row of claimed) {
          const place = chosen.get(row.seq);
          if (!place) continue;
          chosen.delete(row.seq);
          this.#launch(row, place);
        }
      } finally {
        for (const place of chosen.values()) this.#places.release(place);
      }
    }
  }

  #launch(row: OutboxRow, place: Place): void {
    let ending: Ending | undefined;
    const running = this.#deliver(row)
      .then((end) => {
        ending = end;
      })
      .catch((error: unknown) =>
        this.#options.log.error({ eventId: row.event_id, ...whyFailed(error) }, 'delivery broke off'),
      )
      .finally(() => {
        this.#running.delete(running);
        this.#places.release(place, ending);
        this.wake();
      });
    this.#running.add(running);
  }

  /** Makes one attempt. Returns how it ended, or undefined if there is no receiver any more. */
  async #deliver(row: OutboxRow): Promise<Ending | undefined> {
    const { db, endpoints, dispatcher, assetsUrl, retryDelays, log, onOutcome } = this.#options;
    const about = {
      eventId: row.event_id,
      accountId: row.account_id,
      jobId: row.job_id ?? undefined,
      attempt: row.attempts + 1,
      trace_id: row.trace_id ?? undefined,
    };
    const endpoint = await endpoints.ofDelivery(row);
    if (!endpoint) {
      await settle(db, row);
      onOutcome('dropped');
      return undefined;
    }
    const exchange = await post(endpoint, Buffer.from(JSON.stringify(eventBody(row, assetsUrl()))), dispatcher);
    const { failure, tookMs } = exchange;
    const now = currentTime(db);
    const retry = failure === null ? undefined : retryAt(retryDelays, row.attempts + 1, now);
    await transaction(db, async (trx) => {
      if (failure === null) await settle(trx, row);
      else await postpone(trx, row, failure, retry, now);
      await logDelivery(trx, row, exchange);
    });
    if (failure === null) {
      log.debug(about, 'webhook delivered');
      onOutcome('delivered');
      return { succeeded: true, tookMs };
    }
    onOutcome(retry === undefined ? 'dead' : 'failed');
    log.warn({ ...about, failure }, 'webhook failed');
    return { succeeded: false, tookMs };
  }
}

/** POSTs one signed delivery. Any 2xx is success. */
async function post(endpoint: Endpoint, body: Buffer, dispatcher: Dispatcher): Promise<Exchange> {
  const startedAt = Date.now();
  const began = performance.now();
  const timestamp = new Date(startedAt).toISOString();
  const headers = {
    'content-type': 'application/json',
    'content-length': String(body.length),
    'user-agent': 'gen3d-webhooks',
    [timestampHeader]: timestamp,
    [signatureHeader]: sign(endpoint.secret, timestamp, body),
  };
  const sent = { url: endpoint.url, requestHeaders: headers, requestBody: body.toString(), startedAt };
  const waiting = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  // Read when the connection stands: a slow handshake shall not eat into the receiver's time to answer.
  function* sending(): Generator<Buffer> {
    timer = setTimeout(() => waiting.abort(), limits.webhookTimeoutMs);
    yield body;
  }
  try {
    const { statusCode, body: answer } = await request(endpoint.url, {
      dispatcher,
      method: 'POST',
      headers,
      body: Readable.from(sending()),
      signal: waiting.signal,
      // A connection of its own: a kept one may be closed under the request, and skips the address check.
      reset: true,
    });
    clearTimeout(timer);
    const tookMs = performance.now() - began;
    return {
      ...sent,
      tookMs,
      responseStatus: statusCode,
      // Only to be shown: the status is the whole answer, whatever becomes of the rest.
      responseBody: await beginningOf(answer),
      failure: statusCode >= 200 && statusCode < 300 ? null : `HTTP ${statusCode}`,
    };
  } catch (error) {
    const failure = waiting.signal.aborted
      ? `no response within ${limits.webhookTimeoutMs / 1_000} s`
      : connectionFailure(error);
    return { ...sent, tookMs: performance.now() - began, responseStatus: null, responseBody: null, failure };
  } finally {
    clearTimeout(timer);
  }
}
