import { setTimeout as pause } from 'node:timers/promises';
import { limits } from '@gen3d/schema';
import type { Logger } from 'pino';
import type { Dispatcher } from 'undici';
import { coalesced } from '../../base/coalesced.js';
import { nextTurn } from '../../base/next-turn.js';
import { type Share, Shares } from '../../base/shares.js';
import type { Db } from '../../data/db/database.js';
import { after, currentTime, type Time } from '../../data/db/time.js';
import { transaction } from '../../data/db/transaction.js';
import { failureReason, isUnavailable } from '../../data/db/unavailable.js';
import { type ClaimedDelivery, claimDeliveries, endAttempt, nextDue } from '../../data/webhooks/deliveries.js';
import type { Endpoints } from '../../data/webhooks/endpoints.js';
import { failingEndpoints, noteOutcome } from '../../data/webhooks/pauses.js';
import { eventBody, postEvent } from './post-event.js';

// Delivers events. Each attempt leases its event, signs it with the endpoint's current secret, and waits 10 s for a
// 2xx. A failed event is retried after 5 s, 5 min, 30 min, 2 h and 5 h, so that it survives a night's outage of the
// receiver, and then becomes a dead letter. A slow receiver must not delay others, so each endpoint gets few of the 512
// concurrent deliveries. When all are taken, those that have waited for 2 s give way to endpoints with fewer; they are
// repeated when their leases expire, and no attempt counts. An endpoint that has failed for a day is paused.

/** A delivery takes at most 10 s to connect and 10 s for the response. The process must end before its lease does. */
const leaseMs = 3 * limits.webhookTimeoutMs;
/** Looking for due deliveries blocks the event loop; the pause after it is this many times as long as it took. */
const pauseFactor = 4;
/** Concurrent deliveries to an endpoint. */
const maxPerAccount = 8;
/** Maximum delay until events that other processes record are seen. */
const pollMs = 1_000;
/** Each retry delay varies by this fraction, to spread the retries of deliveries that failed at the same time. */
const jitter = 0.2;

export interface DeliveryOptions {
  db: Db;
  endpoints: Endpoints;
  dispatcher: Dispatcher;
  assetsUrl: () => string;
  retryDelays: readonly number[];
  /** Seconds before a ping. */
  pingDelay: number;
  log: Logger;
  onOutcome: (outcome: 'delivered' | 'failed' | 'dead' | 'dropped') => void;
  /** Concurrent deliveries. Each has its own connection. */
  shares?: Shares;
}

/** Delivers events: at least once, signed with the secret that is current at the time of each attempt. */
export class Delivery {
  readonly #options: DeliveryOptions;
  readonly #shares: Shares;
  readonly #maxDelayMs: number;
  readonly #inFlight = new Set<Promise<void>>();
  readonly #poll = coalesced(() => this.#pollAndRest());
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: DeliveryOptions) {
    this.#options = options;
    this.#shares = options.shares ?? new Shares({ total: 512, perHolder: maxPerAccount, giveWayAfterMs: 2_000 });
    this.#maxDelayMs = (1 + jitter) * 1_000 * Math.max(options.pingDelay, ...options.retryDelays);
  }

  start(): void {
    this.#timer = setInterval(() => this.wake(), pollMs);
    this.wake();
  }

  /** Looks for due deliveries now. Cheap, and safe to call often. */
  wake(): void {
    if (!this.#stopped) void this.#poll();
  }

  /** Starts no more deliveries and waits for those in flight. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#poll();
    await Promise.allSettled(this.#inFlight);
  }

  /** Never rejects. */
  async #pollAndRest(): Promise<void> {
    const start = performance.now();
    await this.#launchDue().catch((error: unknown) => {
      // An unavailable database has been logged.
      if (!isUnavailable(error)) this.#options.log.error({ err: error }, 'cannot look for due deliveries');
    });
    await pause(Math.min(pauseFactor * (performance.now() - start), pollMs));
  }

  async #launchDue(): Promise<void> {
    const { db } = this.#options;
    while (!this.#stopped) {
      await nextTurn();
      // One event per account in each round, so that accounts take turns.
      const chosen = new Map<string, { share: Share; abort: AbortController }>();
      const times = { now: currentTime(db), leaseMs, maxDelayMs: this.#maxDelayMs };
      const due = await nextDue(db, times);
      const accountIds = due.map(({ account_id }) => account_id);
      const failing = await failingEndpoints(db, accountIds);
      for (const { event_id, account_id } of due) {
        const abort = new AbortController();
        // An endpoint that fails gets one delivery at a time.
        const amount = failing.has(account_id) ? maxPerAccount : 1;
        const share = this.#shares.take(account_id, amount, { giveWay: () => abort.abort() });
        if (share) chosen.set(event_id, { share, abort });
      }
      if (chosen.size === 0) return;
      try {
        const claimed = await claimDeliveries(db, [...chosen.keys()], times);
        // Another transaction has locked all of them. The next round would find the same events.
        if (claimed.length === 0) return;
        for (const row of claimed) {
          const { share, abort } = chosen.get(row.event_id) ?? {};
          if (!share || !abort) continue;
          chosen.delete(row.event_id);
          this.#launch(row, share, abort.signal);
        }
      } finally {
        for (const { share } of chosen.values()) share.end();
      }
    }
  }

  #launch(row: ClaimedDelivery, share: Share, signal: AbortSignal): void {
    const delivery = this.#deliver(row, signal)
      .catch((error: unknown) => {
        this.#options.log.error({ eventId: row.event_id, ...failureReason(error) }, 'webhook delivery was interrupted');
      })
      .then(() => {
        this.#inFlight.delete(delivery);
        share.end();
        this.wake();
      });
    this.#inFlight.add(delivery);
  }

  /** Makes one attempt. */
  async #deliver(row: ClaimedDelivery, signal: AbortSignal): Promise<void> {
    const { db, endpoints, dispatcher, assetsUrl, retryDelays, log, onOutcome } = this.#options;
    const found = await endpoints.ofDelivery(row);
    if (!found) return onOutcome('dropped');
    const { endpoint, event, traceId } = found;
    const attempt = row.attempts + 1;
    const fields = {
      eventId: row.event_id,
      accountId: row.account_id,
      jobId: event.job_id ?? undefined,
      attempt,
      trace_id: traceId ?? undefined,
    };
    const result = await postEvent(endpoint, eventBody(event, assetsUrl()), dispatcher, { signal });
    const { failure } = result;
    if (failure !== null && signal.aborted) {
      log.info(fields, 'a webhook delivery gave way to those of other accounts; it is repeated');
      return;
    }
    const now = currentTime(db);
    const retry = failure === null ? undefined : retryAt(retryDelays, attempt, now);
    await transaction(db, async (trx) => {
      // First, because a DELETE of the endpoint also locks that before its deliveries.
      await noteOutcome(trx, row.account_id, failure === null, now);
      await endAttempt(trx, row, result, retry, now);
    });
    if (failure === null) {
      log.debug(fields, 'webhook delivered');
      onOutcome('delivered');
    } else {
      log.warn({ ...fields, failure }, 'webhook failed');
      onOutcome(retry === undefined ? 'dead' : 'failed');
    }
  }
}

/** Returns when to retry a delivery after `attempts` failures. Undefined if none are left. `delays` are seconds. */
export function retryAt(
  delays: readonly number[],
  attempts: number,
  now: Time,
  random: () => number = Math.random,
): Time | undefined {
  const delay = delays[attempts - 1];
  return delay === undefined ? undefined : after(now, delay * 1_000 * (1 + jitter * (2 * random() - 1)));
}
