// The built server in its own process, which trusts the authority that this test makes: real HTTPS to a real receiver.
import { createHmac, randomUUID } from 'node:crypto';
import {
  jobStatuses,
  type PingEvent,
  RotateSecretResponse,
  type TaskUpdatedEvent,
  WebhookEndpoint,
} from '@gen3d/schema';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/config.js';
import type { Db } from '../../src/data/db/database.js';
import { dataDirOf } from '../../src/data/installation/data-dir.js';
import { asDataUri, ballPhoto } from '../ball-photo.js';
import { makePrivateCa, type PrivateCa } from '../faults/private-ca.js';
import { type Delivered, openReceiver, type Responder, signedWith } from '../faults/receiver.js';
import { type ServerProcess, spawnServer } from '../faults/server-process.js';
import { type AtEnd, adminOf, type Installation, newInstallation, until } from '../kit.js';
import { openDatabase } from '../open-database.js';
import { type Caller, callerOf, withImages } from './kit.js';

const endpoint = '/v1/webhook-endpoint';
let installation: Installation;
let ca: PrivateCa;
let server: ServerProcess;
let db: Db;

interface Customer extends Caller {
  url: string;
  secret: string;
  received: Delivered[];
}

/** An account with a receiver. */
async function customer(atEnd: AtEnd, answer?: Responder, shownCa = ca): Promise<Customer> {
  const admin = await adminOf({ config: loadConfig({ ...installation }, {}) }, atEnd);
  const { account_id } = await admin.createAccount(`customer ${randomUUID()}`, 10);
  const { api_key } = await admin.createKey(account_id);
  const caller = callerOf(account_id, api_key, (method, path, body) => server.call(method, path, body, api_key));
  const receiver = await openReceiver(shownCa, answer);
  atEnd(() => receiver.close());
  const put = await caller.call('PUT', endpoint, { url: receiver.url });
  return { ...caller, ...WebhookEndpoint.parse(put.body), received: receiver.received };
}

const hmac = (secret: string, text: string | Buffer) => createHmac('sha256', secret).update(text).digest('hex');
const eventsOf = (received: Delivered[]) =>
  received.map(({ body }) => JSON.parse(body.toString()) as TaskUpdatedEvent | PingEvent);

/** Waits until no event of the account waits for a delivery or retry. */
const nothingWaits = (accountId: string) =>
  until(async () => {
    const events = db.selectFrom('deliveries').select('state').where('account_id', '=', accountId);
    return (await events.where('state', '=', 'waiting').execute()).length === 0;
  });

const cleanups: (() => void | Promise<void>)[] = [];
/** The one that the shared story is about: a job that succeeds, one that fails, and a ping. */
let one: Customer;
let good: TaskUpdatedEvent[];
let bad: TaskUpdatedEvent[];
let ping: Delivered;
/** From the request to the time at which the ping is due. */
let pingDelayMs: number;
let ids: { good: string; bad: string };

beforeAll(async () => {
  ca = await makePrivateCa((end) => void cleanups.push(end));
  installation = await newInstallation((end) => void cleanups.push(end));
  const settings = {
    ...installation,
    allowPrivateNetwork: true,
    webhookRetryDelays: [0.1],
  };
  server = spawnServer(settings, ca.trusted);
  await server.ready;
  db = openDatabase(dataDirOf(installation).database);
  one = await customer((end) => void cleanups.push(end));
  await one.call('POST', `${endpoint}/test`);
  const queued = await db
    .selectFrom('deliveries')
    .innerJoin('events', 'events.event_id', 'deliveries.event_id')
    .select(['events.event_id', 'due_at', 'created_at'])
    .where('event', '=', 'ping')
    .executeTakeFirstOrThrow();
  pingDelayMs = queued.due_at - queued.created_at;
  await db
    .updateTable('deliveries')
    .set({ due_at: queued.created_at })
    .where('event_id', '=', queued.event_id)
    .execute();
  ids = { good: await one.create(withImages(asDataUri(ballPhoto()))), bad: await one.create({ type: 'x', input: {} }) };
  const of = (id: string) =>
    eventsOf(one.received).filter((event): event is TaskUpdatedEvent => 'task_id' in event && event.task_id === id);
  const ended = (id: string) => ['SUCCEEDED', 'FAILED'].includes(of(id).at(-1)?.status ?? '');
  await until(async () => ended(ids.good) && ended(ids.bad), 100_000);
  ping = await until(async () => one.received.find(({ event }) => event.event === 'ping'), 15_000);
  [good, bad] = [of(ids.good), of(ids.bad)];
}, 150_000);

afterAll(async () => {
  await db?.destroy();
  await server?.kill();
  for (const end of cleanups.reverse()) await end();
});

const ulid = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
const isoUtc = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('6 events', () => {
  test('are HTTP POSTs of application/json to the configured URL', () => {
    for (const { headers, path } of one.received) {
      expect(path).toBe(new URL(one.url).pathname);
      expect(headers['content-type']).toBe('application/json');
    }
  });

  test('have ids that are ULIDs, unique to each delivery', () => {
    const eventIds = eventsOf(one.received).map(({ event_id }) => event_id);
    for (const id of eventIds) expect(id).toMatch(ulid);
    expect(new Set(eventIds).size).toBe(eventIds.length);
  });
});

describe('6.1 task.updated', () => {
  test('is sent on every change of status or progress, in order, and never goes back', () => {
    const seen = good.map(({ status, progress }) => `${status} ${progress}`);
    expect(seen.slice(0, 4)).toEqual(['PENDING 0', 'PENDING 5', 'QUEUED 25', 'IN_PROGRESS 30']);
    expect(seen.at(-1)).toBe('SUCCEEDED 100');
    expect(new Set(seen).size).toBe(seen.length);
    for (const [i, { status, progress }] of good.entries()) {
      const { status: before, progress: reached } = good[i - 1] ?? good[0]!;
      expect(jobStatuses.indexOf(status)).toBeGreaterThanOrEqual(jobStatuses.indexOf(before));
      expect(progress).toBeGreaterThanOrEqual(reached);
    }
  });

  test('carries event, event_id, user_id, task_id, type, status, progress and timestamp, always', () => {
    for (const [events, taskId] of [
      [good, ids.good],
      [bad, ids.bad],
    ] as const) {
      for (const event of events) {
        expect(event).toMatchObject({
          event: 'task.updated',
          event_id: expect.stringMatching(ulid),
          user_id: one.accountId,
          task_id: taskId,
          type: 'image-to-3d',
          status: expect.any(String),
          progress: expect.any(Number),
          timestamp: expect.stringMatching(isoUtc),
        });
        const sometimes = ['model_urls', 'thumbnail_url', 'error'];
        expect(Object.keys(event).filter((field) => !sometimes.includes(field))).toHaveLength(8);
      }
    }
  });

  test('carries model_urls and thumbnail_url when outputs are ready, as the task object shows them, and not before', async () => {
    const { model_urls, thumbnail_url } = await one.task(ids.good);
    expect(good.at(-1)).toMatchObject({ model_urls, thumbnail_url });
    for (const event of [...good.slice(0, -1), ...bad]) {
      expect(event).not.toHaveProperty('model_urls');
      expect(event).not.toHaveProperty('thumbnail_url');
    }
  });

  test('carries error { code, message } on a FAILED job only', async () => {
    expect(bad.at(-1)).toMatchObject({ status: 'FAILED', error: (await one.task(ids.bad)).error });
    for (const event of [...good, ...bad.slice(0, -1)]) expect(event).not.toHaveProperty('error');
  });
});

describe('6.2 ping', () => {
  test('carries event, event_id, user_id and timestamp and nothing else', () => {
    expect(eventsOf([ping])).toEqual([
      {
        event: 'ping',
        event_id: expect.stringMatching(ulid),
        user_id: one.accountId,
        timestamp: expect.stringMatching(isoUtc),
      },
    ]);
  });

  test('is due 10 seconds after the request', () => {
    // The event and its delivery are written one after the other.
    expect(Math.round(pingDelayMs / 1_000)).toBe(10);
  });

  test('is signed like any delivery', () => {
    expect(signedWith(one.secret, ping)).toBe(true);
  });
});

describe('6.3 signature', () => {
  test('x-generate-timestamp is ISO 8601 and set at delivery time', () => {
    for (const { at, headers } of one.received) {
      const timestamp = String(headers['x-generate-timestamp']);
      expect(timestamp).toMatch(isoUtc);
      expect(Math.abs(at - Date.parse(timestamp))).toBeLessThan(5_000);
    }
  });

  test('x-generate-signature is sha256= and the hex HMAC-SHA256 of <timestamp>.<raw body> under the secret', () => {
    for (const { headers, body } of one.received) {
      const signed = Buffer.concat([Buffer.from(`${headers['x-generate-timestamp']}.`), body]);
      expect(headers['x-generate-signature']).toBe(`sha256=${hmac(one.secret, signed)}`);
    }
  });

  test('covers the raw bytes: neither another layout of the same JSON, another time nor another secret verifies', () => {
    const { headers, body } = ping;
    const timestamp = String(headers['x-generate-timestamp']);
    const laidOut = JSON.stringify(JSON.parse(body.toString()), null, 1);
    const later = new Date(Date.parse(timestamp) + 1).toISOString();
    for (const forged of [
      hmac(one.secret, `${timestamp}.${laidOut}`),
      hmac(one.secret, `${later}.${body}`),
      hmac(one.secret, body),
      hmac('whsec_another', `${timestamp}.${body}`),
    ]) {
      expect(headers['x-generate-signature']).not.toBe(`sha256=${forged}`);
    }
  });

  test('after rotate a delivery is signed with the new secret, and the old one no longer verifies', async () => {
    const { call, create, received, secret: old } = await customer(onTestFinished);
    const { secret } = RotateSecretResponse.parse((await call('POST', `${endpoint}/rotate`)).body);
    await create({ type: 'reserved', input: {} });
    await until(async () => received.length >= 2);
    for (const delivered of received) {
      expect(signedWith(secret, delivered)).toBe(true);
      expect(signedWith(old, delivered)).toBe(false);
    }
  });
});

describe('6.4 delivery', () => {
  test('any 2xx is success and is not sent again; anything else is retried with the same event_id', async () => {
    const firstAnswers = [299, 500, 204, 404];
    const times = new Map<string, number>();
    const { accountId, create, received } = await customer(onTestFinished, (response, { event: { event_id } }) => {
      const before = times.get(event_id) ?? 0;
      times.set(event_id, before + 1);
      response.writeHead(before === 0 ? (firstAnswers.shift() ?? 200) : 200).end();
    });
    await create({ type: 'reserved', input: {} });
    await create({ type: 'reserved', input: {} });
    await nothingWaits(accountId);
    expect(received).toHaveLength(6);
    expect([...times.values()].sort()).toEqual([1, 1, 2, 2]);
  });

  test('after a change of the URL goes to the new one', async () => {
    const { call, create, received: old } = await customer(onTestFinished);
    const moved = await openReceiver(ca);
    onTestFinished(() => moved.close());
    await call('PUT', endpoint, { url: moved.url });
    await create({ type: 'reserved', input: {} });
    await until(async () => moved.received.length >= 2);
    expect(old).toEqual([]);
  });

  test('stops at once after DELETE', async () => {
    const { accountId, call, create, received, task } = await customer(onTestFinished);
    expect((await call('DELETE', endpoint)).status).toBe(204);
    const id = await create({ type: 'reserved', input: {} });
    await until(async () => (await task(id)).finished_at !== null);
    await nothingWaits(accountId);
    expect(received).toEqual([]);
  });

  test('fails if the certificate of the receiver is not trusted', async () => {
    const { accountId, create, received } = await customer(onTestFinished, undefined, await makePrivateCa());
    await create({ type: 'reserved', input: {} });
    const deliveries = db.selectFrom('deliveries').select('failure').where('account_id', '=', accountId);
    const { failure } = await until(() => deliveries.where('attempts', '>', 0).executeTakeFirst());
    expect(failure).toMatch(/^its certificate is /);
    expect(received).toEqual([]);
  });

  test('is of the account\u2019s own jobs only', async () => {
    const [a, b] = [await customer(onTestFinished), await customer(onTestFinished)];
    await a.create({ type: 'reserved', input: {} });
    await until(async () => a.received.length >= 2);
    for (const { event } of a.received) expect(event.user_id).toBe(a.accountId);
    expect(b.received).toEqual([]);
  });
});
