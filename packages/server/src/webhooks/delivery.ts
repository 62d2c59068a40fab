import { Readable } from 'node:stream';
import { limits, signatureHeader, timestampHeader } from '@gen3d/schema';
import type { Logger } from 'pino';
import { type Dispatcher, request } from 'undici';
import type { Db } from '../db/open.js';
import type { OutboxRow } from '../db/tables.js';
import type { Endpoint, Endpoints } from './endpoints.js';
import { eventBody } from './event-body.js';
import { claimDue, postpone, settle } from './outbox.js';
import { retryAt } from './retry-schedule.js';
import { sign } from './signature.js';

/** A slow receiver fills its own account's places and nobody else's. */
const maxPerAccount = 8;
const maxInFlight = 64;
/** A delivery takes at most the time to connect and to answer, 10 s each; one that is silent for longer died with its process. */
const leaseMs = 3 * limits.webhookTimeoutMs;
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
}

/** Delivers the outbox: at least once, signed with the secret that is current when the delivery goes out. */
export class Delivery {
  readonly #options: DeliveryOptions;
  readonly #inFlight = new Map<string, number>();
  readonly #running = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #again = false;
  #stopped = false;

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  start(): void {
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
    this.#looking = this.#look()
      .catch((error: unknown) => this.#options.log.error({ err: error }, 'cannot read the outbox'))
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
    while (!this.#stopped && this.#running.size < maxInFlight) {
      const rows = await claimDue(db, {
        now: Date.now(),
        leaseMs,
        limit: maxInFlight - this.#running.size,
        perAccount: maxPerAccount,
        inFlight: this.#inFlight,
      });
      if (rows.length === 0) return;
      for (const row of rows) this.#launch(row);
    }
  }

  #launch(row: OutboxRow): void {
    const { account_id } = row;
    this.#inFlight.set(account_id, (this.#inFlight.get(account_id) ?? 0) + 1);
    const running = this.#deliver(row)
      .catch((error: unknown) => this.#options.log.error({ err: error, eventId: row.event_id }, 'delivery broke off'))
      .finally(() => {
        this.#running.delete(running);
        const left = (this.#inFlight.get(account_id) ?? 1) - 1;
        if (left > 0) this.#inFlight.set(account_id, left);
        else this.#inFlight.delete(account_id);
        this.wake();
      });
    this.#running.add(running);
  }

  async #deliver(row: OutboxRow): Promise<void> {
    const { db, endpoints, dispatcher, assetsUrl, retryDelays, log, onOutcome } = this.#options;
    const endpoint = await endpoints.find(row.account_id);
    if (!endpoint) {
      await settle(db, row);
      onOutcome('dropped');
      return;
    }
    const failure = await post(endpoint, Buffer.from(JSON.stringify(eventBody(row, assetsUrl()))), dispatcher);
    const now = Date.now();
    if (failure === undefined) {
      await settle(db, row);
      onOutcome('delivered');
      return;
    }
    const retry = retryAt(retryDelays, row.attempts + 1, now);
    await postpone(db, row, failure, retry, now);
    onOutcome(retry === undefined ? 'dead' : 'failed');
    log.warn(
      { eventId: row.event_id, accountId: row.account_id, attempt: row.attempts + 1, failure },
      'webhook failed',
    );
  }
}

/** POSTs one signed delivery. Returns undefined for any 2xx, else what went wrong, in words for an operator. */
async function post(endpoint: Endpoint, body: Buffer, dispatcher: Dispatcher): Promise<string | undefined> {
  const timestamp = new Date().toISOString();
  const waiting = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  // Read when the connection stands: a slow handshake shall not eat into the receiver's time to answer.
  function* sending(): Generator<Buffer> {
    timer = setTimeout(() => waiting.abort(), limits.webhookTimeoutMs);
    yield body;
  }
  try {
    const response = await request(endpoint.url, {
      dispatcher,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'content-length': String(body.length),
        'user-agent': 'gen3d-webhooks',
        [timestampHeader]: timestamp,
        [signatureHeader]: sign(endpoint.secret, timestamp, body),
      },
      body: Readable.from(sending()),
      signal: waiting.signal,
      // A connection of its own: a kept one may be closed under the request, and skips the address check.
      reset: true,
    });
    // The status is the whole answer; what follows is neither waited for nor read.
    response.body.on('error', () => {}).destroy();
    return response.statusCode >= 200 && response.statusCode < 300 ? undefined : `HTTP ${response.statusCode}`;
  } catch (error) {
    if (waiting.signal.aborted) return `no response within ${limits.webhookTimeoutMs / 1_000} s`;
    return error instanceof Error ? error.message : String(error);
  } finally {
    clearTimeout(timer);
  }
}
