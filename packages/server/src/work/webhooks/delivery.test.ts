import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { signatureHeader, timestampHeader, WebhookEvent } from '@gen3d/schema';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ConcurrencyMeter, newAccount, newJob, onPostgres, site, until } from '../../../test/kit.js';
import { guardedAgent } from '../../base/net/guarded-agent.js';
import { Shares } from '../../base/shares.js';
import type { Db } from '../../data/db/database.js';
import { claim } from '../../data/jobs/claim.js';
import { deleteJob } from '../../data/jobs/deletion.js';
import { advance, cancel } from '../../data/jobs/lifecycle.js';
import { listDeadLetters, replayDeadLetters } from '../../data/webhooks/dead-letters.js';
import { claimDeliveries, nextDue } from '../../data/webhooks/deliveries.js';
import { deleteOldEvents, expireEvents, limitEvents } from '../../data/webhooks/event-retention.js';
import { recordPing, recordTaskUpdated } from '../../data/webhooks/events.js';
import { noteOutcome } from '../../data/webhooks/pauses.js';
import { newDelivery } from './delivery.fixture.js';
import { retryAt } from './delivery.js';
import { sign } from './post-event.js';

interface Received {
  path: string | undefined;
  headers: IncomingHttpHeaders;
  body: Buffer;
  event: WebhookEvent;
}

/** A receiver on loopback that records each delivery and calls `respond`, by default with status 200. */
async function receiver(
  respond: (response: ServerResponse, received: Received) => void = (response) => response.end(),
) {
  const received: Received[] = [];
  const address = await site(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const event = WebhookEvent.parse(JSON.parse(body.toString()));
    const one = { path: request.url, headers: request.headers, body, event };
    received.push(one);
    respond(response, one);
  });
  return { received, url: `${address}/hook` };
}

/** A receiver that never responds, until `hangUp` closes all connections. */
async function hangingReceiver() {
  const responses = new Set<ServerResponse>();
  const { url } = await receiver((response) => {
    responses.add(response);
    response.on('close', () => responses.delete(response));
  });
  const hangUp = () => {
    for (const response of responses) response.destroy();
  };
  return { url, hangUp, open: () => responses.size };
}

const at = (now: number) => ({ now, leaseMs: 30_000, maxDelayMs: 60_000 });

const waiting = async (db: Db) =>
  (await db.selectFrom('deliveries').select('event_id').where('state', '=', 'waiting').execute()).length;
const nothingWaits = (db: Db) => until(async () => (await waiting(db)) === 0);
const deadLetter = (db: Db) => until(async () => (await listDeadLetters(db))[0]);

describe('a delivery', () => {
  test.each([200, 500])(
    'of a job that is deleted meanwhile leaves no trace, whether the response is %i',
    async (status) => {
      const outcomes: string[] = [];
      const { db, endpoints, delivery, account } = await newDelivery({
        onOutcome: (outcome) => void outcomes.push(outcome),
      });
      const responses: ServerResponse[] = [];
      const { url } = await receiver((response) => void responses.push(response));
      await endpoints.put(account, url, 0);
      const id = await newJob(db, account);
      await cancel(db, id, Date.now());
      delivery.start();
      await until(async () => responses.length === 1);
      expect(await deleteJob(db, id, Date.now())).toBe('deleted');
      responses[0]!.writeHead(status).end();
      await until(async () => outcomes.length === 1);
      for (const table of ['events', 'deliveries'] as const) {
        expect(await db.selectFrom(table).selectAll().execute()).toEqual([]);
      }
    },
  );

  test('is signed over its exact bytes with the secret that is current when it is sent, and so is its retry', async () => {
    const { db, endpoints, delivery, account } = await newDelivery();
    const secrets: string[] = [];
    const { received, url } = await receiver(async (response) => {
      if (received.length > 1) return void response.end();
      secrets.push((await endpoints.rotate(account))!);
      response.writeHead(500).end();
    });
    await endpoints.put(account, url, 0);
    await recordPing(db, account, 0, Date.now());
    secrets.push((await endpoints.rotate(account))!);
    delivery.start();
    await nothingWaits(db);
    expect(new Set(secrets).size).toBe(2);
    expect(received).toHaveLength(2);
    for (const [index, { headers, body, event }] of received.entries()) {
      expect(event).toMatchObject({ event: 'ping', user_id: account });
      expect(headers['content-type']).toBe('application/json');
      expect(headers[signatureHeader]).toBe(sign(secrets[index]!, String(headers[timestampHeader]), body));
    }
  });

  test('that fails or breaks off is retried 5 times with the same event, becomes a dead letter, and can be replayed', async () => {
    let healthy = false;
    const { db, endpoints, delivery, account } = await newDelivery();
    const { received, url } = await receiver((response) => {
      if (received.length === 1) response.destroy();
      else response.writeHead(healthy ? 204 : 500).end();
    });
    await endpoints.put(account, url, 0);
    await recordPing(db, account, 0, Date.now());
    delivery.start();
    const dead = await deadLetter(db);
    expect(received).toHaveLength(6);
    expect(new Set(received.map(({ body }) => body.toString())).size).toBe(1);
    expect(dead).toMatchObject({ attempts: 6, failure: 'HTTP 500' });

    healthy = true;
    expect(await replayDeadLetters(db, { eventId: dead.event_id }, Date.now())).toBe(1);
    delivery.wake();
    await nothingWaits(db);
    expect(await listDeadLetters(db)).toEqual([]);
    expect(received.at(-1)?.event.event_id).toBe(dead.event_id);
  });

  test('does not follow a redirect, which counts as a failure', async () => {
    const { db, endpoints, delivery, account } = await newDelivery({ retryDelays: [] });
    const { received, url } = await receiver((response) => response.writeHead(302, { location: '/other' }).end());
    await endpoints.put(account, url, 0);
    await recordPing(db, account, 0, Date.now());
    delivery.start();
    await deadLetter(db);
    expect(received.map(({ path }) => path)).toEqual(['/hook']);
  });

  test('is not made to a private address unless the server allows it', async () => {
    const guarded = guardedAgent({ allowPrivateNetwork: false, connectTimeoutMs: 1_000 });
    onTestFinished(() => guarded.destroy());
    const { db, endpoints, delivery, account } = await newDelivery({ retryDelays: [], dispatcher: guarded });
    const { received, url } = await receiver();
    await endpoints.put(account, url, 0);
    await recordPing(db, account, 0, Date.now());
    delivery.start();
    expect((await deadLetter(db)).failure).toContain('not a public address');
    expect(received).toEqual([]);
  });
});

describe('the events of a job', () => {
  test('arrive in order at the first attempt, even when one of them fails', async () => {
    const { db, endpoints, delivery, account } = await newDelivery({ retryDelays: [1, 1] });
    const firsts = new Map<string, unknown>();
    const concurrency = new ConcurrencyMeter();
    const { received, url } = await receiver((response, { event }) => {
      if (firsts.has(event.event_id)) return void response.end();
      const progress = 'progress' in event ? event.progress : undefined;
      firsts.set(event.event_id, progress);
      concurrency.begin();
      // Slow enough for the next delivery to start in the meantime if it did not wait.
      setTimeout(() => {
        concurrency.end();
        response.writeHead(progress === 40 ? 503 : 200).end();
      }, 50);
    });
    await endpoints.put(account, url, 0);
    const id = await newJob(db, account);
    const { lease } = (await claim(db, { runner: 'a', now: 0, leaseMs: 60_000 }))!;
    for (const progress of [40, 50, 60, 90]) await advance(db, lease, { status: 'IN_PROGRESS', progress }, Date.now());
    delivery.start();
    await nothingWaits(db);
    expect([...firsts.values()]).toEqual([30, 40, 50, 60, 90]);
    expect(concurrency.max).toBe(1);
    // Five events, one of them twice.
    expect(received).toHaveLength(6);
    expect(received.every(({ event }) => event.event === 'task.updated' && event.task_id === id)).toBe(true);
  });
});

describe('deleting the endpoint', () => {
  test('keeps claimed events from an endpoint that is created afterwards', async () => {
    const { db, endpoints, account } = await newDelivery();
    await endpoints.put(account, 'https://first.example/', 0);
    await recordPing(db, account, 0, 0);
    const [due] = await nextDue(db, at(0));
    const [claimed] = await claimDeliveries(db, [due!.event_id], at(0));
    expect(await endpoints.ofDelivery(claimed!)).toMatchObject({ endpoint: { url: 'https://first.example/' } });
    await endpoints.remove(account);
    await endpoints.put(account, 'https://second.example/', 0);
    expect(await endpoints.ofDelivery(claimed!)).toBeUndefined();
  });

  test('drops waiting events, and a delivery in flight is not retried', async () => {
    const { db, endpoints, delivery, account } = await newDelivery();
    let respondLate: (() => void) | undefined;
    const { received, url } = await receiver((response) => {
      respondLate = () => response.writeHead(500).end();
    });
    await endpoints.put(account, url, 0);
    await recordPing(db, account, 0, Date.now());
    await recordPing(db, account, 60_000, Date.now());
    delivery.start();
    await until(async () => respondLate !== undefined);
    await endpoints.remove(account);
    expect(await waiting(db)).toBe(0);
    respondLate?.();
    await delivery.stop();
    expect(received).toHaveLength(1);
    expect(await waiting(db)).toBe(0);
  });
});

describe('a slow receiver', () => {
  test('delays only its own account', async () => {
    const { db, endpoints, delivery, account } = await newDelivery();
    const dead = await hangingReceiver();
    const quick = await receiver();
    const other = await newAccount(db, 'other');
    await endpoints.put(account, dead.url, 0);
    await endpoints.put(other, quick.url, 0);
    for (let i = 0; i < 100; i++) await recordPing(db, account, 0, Date.now() - 1_000);
    await recordPing(db, other, 0, Date.now());
    delivery.start();
    await until(async () => quick.received.length === 1 && dead.open() === 8);
    await endpoints.remove(account);
    dead.hangUp();
  });

  test('does not get the same event from two servers at the same time', async () => {
    const { db, endpoints, account } = await newDelivery();
    await endpoints.put(account, 'http://127.0.0.1:1/', 0);
    for (let i = 0; i < 10; i++) await recordPing(db, account, 0, 0);
    const claim = async () => {
      const due = await nextDue(db, at(1));
      return claimDeliveries(
        db,
        due.map(({ event_id }) => event_id),
        at(1),
      );
    };
    const claimed = (await Promise.all([claim(), claim()])).flat().sort((a, b) => (a.event_id < b.event_id ? -1 : 1));
    expect(new Set(claimed.map(({ event_id }) => event_id)).size).toBe(claimed.length);
    const [one] = claimed;
    // Other servers take over the deliveries of a crashed server when its lease has expired.
    expect(await nextDue(db, at(30_000))).not.toContainEqual({ event_id: one!.event_id, account_id: account });
    expect(await nextDue(db, at(30_001))).toEqual([{ event_id: one!.event_id, account_id: account }]);
  });
});

describe('many dead receivers', () => {
  test('give way to prompt receivers when they hold all deliveries, and are repeated without a lost attempt', async () => {
    const shares = new Shares({ total: 16, giveWayAfterMs: 500 });
    const { db, endpoints, delivery, account: prompt } = await newDelivery({ shares });
    const dead = await hangingReceiver();
    const { received, url } = await receiver();
    await endpoints.put(prompt, url, 0);
    // Due an hour ago, which puts them all first.
    const anHourAgo = Date.now() - 3_600_000;
    for (let i = 0; i < 30; i++) {
      const account = await newAccount(db, `dead ${i}`);
      await endpoints.put(account, dead.url, 0);
      for (let j = 0; j < 3; j++) await recordPing(db, account, 0, anHourAgo);
    }
    delivery.start();
    await until(async () => dead.open() === 16);
    await recordPing(db, prompt, 0, Date.now());
    delivery.wake();
    await until(async () => received.length === 1);
    await until(async () => (await waiting(db)) === 90);
    const attempts = db.selectFrom('deliveries').select('attempts').where('state', '=', 'waiting');
    expect(await attempts.execute()).toEqual(Array(90).fill({ attempts: 0 }));
    await db.deleteFrom('events').execute();
    dead.hangUp();
  });
});

describe('the queue of deliveries', () => {
  test('of a silent receiver is bounded over three days, its events become dead letters, and others get theirs', async () => {
    const { db, endpoints, account: prompt } = await newDelivery();
    const silentAccount = await newAccount(db, 'silent');
    for (const each of [prompt, silentAccount]) await endpoints.put(each, 'http://127.0.0.1:1/', 0);
    const hourMs = 3_600_000;
    for (let hour = 0; hour < 72; hour++) {
      await db.transaction().execute(async (trx) => {
        for (let i = 0; i < 10; i++) await recordPing(trx, silentAccount, 0, hour * hourMs);
      });
      await limitEvents(db, hour * hourMs, 50);
    }
    const rows = await db.selectFrom('deliveries').selectAll().orderBy('event_id').execute();
    expect(rows.filter(({ state }) => state === 'waiting')).toHaveLength(50);
    expect(rows.filter(({ state }) => state === 'dead')).toHaveLength(50);
    expect(rows[0]).toMatchObject({ failure: 'more than 50 newer events were waiting' });
    expect(rows.at(-1)).toMatchObject({ state: 'waiting', due_at: 71 * hourMs });
    expect(await db.selectFrom('events').select('event_id').execute()).toHaveLength(100);

    const later = 144 * hourMs;
    await recordPing(db, prompt, 0, later);
    await recordPing(db, silentAccount, 0, later - 24 * hourMs);
    await expireEvents(db, later);
    const due = await nextDue(db, at(later));
    expect(new Set(due.map(({ account_id }) => account_id))).toEqual(new Set([prompt, silentAccount]));
    expect(await waiting(db)).toBe(2);
    expect(await listDeadLetters(db)).toHaveLength(100);
  });

  test('delivers events whose time or lease was written while the clock was days ahead', async () => {
    const { db, endpoints, account } = await newDelivery();
    const other = await newAccount(db, 'other');
    const wrong = 5 * 86_400_000;
    for (const each of [account, other]) {
      await endpoints.put(each, 'http://127.0.0.1:1/', 0);
      await recordPing(db, each, 10_000, wrong);
    }
    const [leased, due] = await nextDue(db, at(wrong + 10_000));
    await claimDeliveries(db, [leased!.event_id], at(wrong + 10_000));
    expect(await nextDue(db, at(0))).toHaveLength(2);
    const ids = [leased!.event_id, due!.event_id];
    expect(await claimDeliveries(db, ids, at(0))).toHaveLength(2);
    expect(await claimDeliveries(db, ids, at(0))).toEqual([]);
  });

  test('gives the next delivery of each account, oldest first, and skips those in flight, dead or not due', async () => {
    const { db, endpoints, account: later } = await newDelivery();
    const names = ['sooner', 'leased', 'future', 'dead', 'silent'];
    const others = await Promise.all(names.map((name) => newAccount(db, name)));
    const [sooner, leased, future, dead] = others as [string, string, string, string, string];
    for (const account of [later, ...others]) await endpoints.put(account, 'http://127.0.0.1:1/', 0);
    await recordPing(db, leased, 0, 1);
    await claimDeliveries(
      db,
      (await nextDue(db, at(1))).map(({ event_id }) => event_id),
      at(1),
    );
    await recordPing(db, dead, 0, 1);
    await db.updateTable('deliveries').set({ state: 'dead', ended_at: 2 }).where('account_id', '=', dead).execute();
    await recordPing(db, future, 0, 5_000);
    await recordPing(db, later, 0, 20);
    await recordPing(db, sooner, 0, 30);
    await recordPing(db, sooner, 0, 10);
    expect((await nextDue(db, at(100))).map(({ account_id }) => account_id)).toEqual([sooner, later]);
    await recordPing(db, leased, 0, 5);
    expect((await nextDue(db, at(100))).map(({ account_id }) => account_id)).toEqual([leased, sooner, later]);
  });
});

describe('an endpoint that fails', () => {
  const hourMs = 3_600_000;

  /** What the endpoint is paused for if deliveries fail at these hours, and events are due after each. */
  async function failAt(...hours: number[]) {
    const { db, endpoints, account } = await newDelivery();
    await endpoints.put(account, 'http://127.0.0.1:1/', 0);
    for (const hour of hours) await noteOutcome(db, account, false, hour * hourMs);
    await recordTaskUpdated(db, { ...job, account_id: account }, 0);
    const isDueAt = async (hour: number) => (await nextDue(db, at(hour * hourMs))).length === 1;
    return { db, endpoints, account, isDueAt };
  }
  const job = {
    id: 'job',
    status: 'QUEUED',
    progress: 25,
    error_code: null,
    error_message: null,
    model_key: null,
    thumbnail_key: null,
  } as const;

  test('for less than a day is not paused', async () => {
    const { isDueAt } = await failAt(0, 1, 23.9);
    expect(await isDueAt(23.9)).toBe(true);
  });

  test.each([
    ['a day is paused for 3 hours', [0, 24], 27],
    ['4 days is paused for 12 hours', [0, 24, 96], 108],
    ['8 days is paused for a day', [0, 24, 192], 216],
    ['a month is paused for a day', [0, 24, 720], 744],
  ])('for %s, then its oldest event is due', async (_, hours, end) => {
    const { isDueAt } = await failAt(...hours);
    expect(await isDueAt(hours.at(-1)!)).toBe(false);
    expect(await isDueAt(end - 0.01)).toBe(false);
    expect(await isDueAt(end)).toBe(true);
  });

  test('is not paused after a success, a ping or a new URL, nor by a clock that was days ahead', async () => {
    const success = await failAt(0, 24);
    await noteOutcome(success.db, success.account, true, 25 * hourMs);
    expect(await success.isDueAt(25)).toBe(true);
    await noteOutcome(success.db, success.account, false, 26 * hourMs);
    expect(await success.isDueAt(26)).toBe(true);

    const ping = await failAt(0, 24);
    await recordPing(ping.db, ping.account, 0, 25 * hourMs);
    expect(await ping.isDueAt(25)).toBe(true);
    // If that fails, too, the pause is as long as before.
    await noteOutcome(ping.db, ping.account, false, 25 * hourMs);
    expect(await ping.isDueAt(28)).toBe(false);

    const url = await failAt(0, 24);
    await url.endpoints.put(url.account, 'http://127.0.0.1:2/', 25 * hourMs);
    expect(await url.isDueAt(25)).toBe(true);

    const wrongClock = await failAt(240, 264);
    expect(await wrongClock.isDueAt(1)).toBe(true);
  });

  test('for a day gets one event after each pause, shows both times, and gets all once it works again', async () => {
    let works = false;
    const { db, endpoints, delivery, account } = await newDelivery();
    const { received, url } = await receiver((response) => response.writeHead(works ? 200 : 500).end());
    const prompt = await receiver();
    const other = await newAccount(db, 'other');
    await endpoints.put(account, url, 0);
    await endpoints.put(other, prompt.url, 0);
    const since = Date.now() - 2 * 24 * hourMs;
    await db.updateTable('webhook_endpoints').set({ failing_since: since }).where('account_id', '=', account).execute();
    for (let i = 0; i < 5; i++) await recordPing(db, account, 0, Date.now());
    delivery.start();
    const pausedUntil = () => endpoints.find(account).then((found) => found?.health.paused_until);
    await until(pausedUntil);
    expect((await endpoints.find(account))?.health.failing_since).toBe(new Date(since).toISOString());
    // Another account's events show that the queue has been read.
    const otherIsServed = async (count: number) => {
      await recordPing(db, other, 0, Date.now());
      delivery.wake();
      await until(async () => prompt.received.length === count);
    };
    await otherIsServed(1);
    expect(received).toHaveLength(1);

    const endPause = () =>
      db.updateTable('webhook_endpoints').set({ paused_until: 1 }).where('account_id', '=', account).execute();
    await endPause();
    delivery.wake();
    await until(pausedUntil);
    await otherIsServed(2);
    expect(received).toHaveLength(2);

    works = true;
    await endPause();
    delivery.wake();
    await nothingWaits(db);
    expect((await endpoints.find(account))?.health).toEqual({});
    expect(new Set(received.map(({ event }) => event.event_id)).size).toBe(5);
  });
});

test('replaying a dead letter ends the pause of its endpoint', async () => {
  const { db, endpoints, account } = await newDelivery();
  await endpoints.put(account, 'http://127.0.0.1:1/', 0);
  await recordPing(db, account, 0, 0);
  const now = Date.now();
  await db.updateTable('deliveries').set({ state: 'dead', ended_at: now }).execute();
  await db
    .updateTable('webhook_endpoints')
    .set({ failing_since: now, paused_until: now + 3_600_000 })
    .execute();
  expect((await endpoints.find(account))?.health.paused_until).toBeDefined();
  expect(await replayDeadLetters(db, { since: 0 }, now)).toBe(1);
  expect((await endpoints.find(account))?.health.paused_until).toBeUndefined();
});

test.runIf(onPostgres)('a dead letter that is being replayed does not block the deletion of others', async () => {
  const { db, endpoints, account } = await newDelivery();
  await endpoints.put(account, 'http://127.0.0.1:1/', 0);
  for (let index = 0; index < 2; index++) await recordPing(db, account, 0, 0);
  await db.updateTable('deliveries').set({ state: 'dead', ended_at: 1_000 }).execute();
  const [first] = await listDeadLetters(db);
  await db.transaction().execute(async (trx) => {
    const locked = trx.selectFrom('deliveries').select('event_id').where('event_id', '=', first!.event_id);
    await locked.forUpdate().execute();
    await deleteOldEvents(db, 15 * 24 * 60 * 60 * 1_000);
  });
  expect((await listDeadLetters(db)).map(({ event_id }) => event_id)).toEqual([first!.event_id]);
});

test.runIf(onPostgres)('events that another transaction holds do not cause a busy loop', async () => {
  let polls = 0;
  class CountingShares extends Shares {
    override take(...request: Parameters<Shares['take']>) {
      polls++;
      return super.take(...request);
    }
  }
  const { db, endpoints, delivery, account } = await newDelivery({ shares: new CountingShares({ total: 512 }) });
  const { url, received } = await receiver();
  await endpoints.put(account, url, 0);
  await recordPing(db, account, 0, 0);
  await db.transaction().execute(async (trx) => {
    await trx.selectFrom('deliveries').select('event_id').forUpdate().execute();
    const start = performance.now();
    delivery.start();
    await until(async () => polls >= 4);
    // Three pauses of a second, less the imprecision of timers. Without them it takes milliseconds.
    expect(performance.now() - start).toBeGreaterThan(2_000);
  });
  await until(async () => received.length === 1);
});

const delays = [5, 300, 1800, 7200, 18_000];

test('a failed delivery is due after each retry delay in turn, and never after the last', () => {
  const random = () => 0.5;
  expect([1, 2, 3, 4, 5, 6].map((attempts) => retryAt(delays, attempts, 1_000, random))).toEqual([
    6_000,
    301_000,
    1_801_000,
    7_201_000,
    18_001_000,
    undefined,
  ]);
});

test('each retry delay varies by at most 20 %', () => {
  expect(retryAt(delays, 1, 0, () => 0)).toBe(4_000);
  expect(retryAt(delays, 1, 0, () => 1)).toBe(6_000);
});
