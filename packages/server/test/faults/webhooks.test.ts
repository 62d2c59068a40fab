import { randomUUID } from 'node:crypto';
// Deliveries over real HTTPS, to receivers that misbehave. The slow tests run concurrently.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CreateJobResponse, RotateSecretResponse, WebhookEndpoint } from '@gen3d/schema';
import { afterAll, beforeAll, describe, type TestContext, test } from 'vitest';
import { loadConfig } from '../../src/config.js';
import type { Db } from '../../src/data/db/database.js';
import { dataDirOf } from '../../src/data/installation/data-dir.js';
import { type Admin, openAdmin } from '../../src/index.js';
import { ConcurrencyMeter, type Installation, newInstallation, until } from '../kit.js';
import { openDatabase } from '../open-database.js';
import { makePrivateCa, type PrivateCa } from './private-ca.js';
import { openReceiver, type Receiver, type Responder, signedWith } from './receiver.js';
import { type ServerProcess, spawnServer } from './server-process.js';

const retryDelaySeconds = 0.4;
const pingDelaySeconds = 0.1;
const attempts = 6;
const endpoint = '/v1/webhook-endpoint';

const cleanups: (() => void | Promise<void>)[] = [];
let installation: Installation;
let ca: PrivateCa;
let server: ServerProcess;
let admin: Admin;
let db: Db;

beforeAll(async () => {
  installation = await newInstallation((end) => void cleanups.push(end));
  ca = await makePrivateCa();
  const caFile = join(installation.dataDir, 'ca.pem');
  writeFileSync(caFile, ca.ca);
  const settings = {
    ...installation,
    allowPrivateNetwork: true,
    webhookRetryDelays: Array.from({ length: attempts - 1 }, () => retryDelaySeconds),
    webhookPingDelay: pingDelaySeconds,
  };
  server = spawnServer(settings, { NODE_EXTRA_CA_CERTS: caFile });
  await server.ready;
  admin = await openAdmin(loadConfig({}, {}, { ...installation }));
  db = openDatabase(dataDirOf(installation).database);
});

afterAll(async () => {
  await admin?.close();
  await db?.destroy();
  await server?.kill();
  for (const end of cleanups.reverse()) await end();
});

interface Customer {
  accountId: string;
  /** The secret before any rotation. */
  secret: string;
  receiver: Receiver;
  call: ServerProcess['call'];
  ping(): Promise<void>;
  /** Waits for this number of requests. */
  arrivals(count: number, timeoutMs?: number): Promise<Receiver['received']>;
}

/** A new account with its own receiver. */
async function customer({ onTestFinished }: TestContext, answer?: Responder, shownCa = ca): Promise<Customer> {
  const { account_id } = await admin.createAccount(`customer ${randomUUID()}`, 10);
  const { api_key } = await admin.createKey(account_id);
  const receiver = await openReceiver(shownCa, answer);
  onTestFinished(() => receiver.close());
  const call: Customer['call'] = (method, path, body) => server.call(method, path, body, api_key);
  const { secret } = WebhookEndpoint.parse((await call('PUT', endpoint, { url: receiver.url })).body);
  return {
    accountId: account_id,
    secret,
    receiver,
    call,
    async ping() {
      await call('POST', `${endpoint}/test`);
    },
    arrivals: (count, timeoutMs) =>
      until(async () => receiver.received.length >= count && receiver.received, timeoutMs),
  };
}

/** Waits until no event of the account waits for a delivery or retry. */
const nothingWaits = ({ accountId }: Customer) =>
  until(async () => {
    const events = db.selectFrom('deliveries').select('state').where('account_id', '=', accountId);
    return (await events.where('state', '=', 'waiting').execute()).length === 0;
  });

/** Waits for a dead letter of the account. Returns all of them. */
const deadLetters = ({ accountId }: Customer, timeoutMs?: number) =>
  until(async () => {
    const letters = (await admin.listDeadLetters()).filter(({ account_id }) => account_id === accountId);
    return letters.length > 0 && letters;
  }, timeoutMs);

describe.concurrent('a delivery over HTTPS', () => {
  test('that gets 500 twice is retried after each pause with the same event and a new signature', async (context) => {
    const { expect } = context;
    const one = await customer(context, (response, _delivered, count) =>
      response.writeHead(count < 3 ? 500 : 200).end(),
    );
    await one.ping();
    await nothingWaits(one);
    const { received } = one.receiver;
    expect(received).toHaveLength(3);
    expect(new Set(received.map(({ body }) => body.toString())).size).toBe(1);
    for (const delivered of received) expect(signedWith(one.secret, delivered)).toBe(true);
    const pauses = received.slice(1).map(({ at }, i) => at - received[i]!.at);
    for (const ms of pauses) expect(ms).toBeGreaterThan(retryDelaySeconds * 1_000 * 0.75);
  });

  test('whose connection is reset is retried', async (context) => {
    const { expect } = context;
    const one = await customer(context, (response, _delivered, count, request) => {
      if (count === 1) request.socket.destroy();
      else response.end();
    });
    await one.ping();
    const [first, second] = await one.arrivals(2);
    expect(second!.body.equals(first!.body)).toBe(true);
  });

  test('that is redirected fails, and the redirect is not followed', async (context) => {
    const { expect } = context;
    const redirectTarget = await openReceiver(ca);
    context.onTestFinished(() => redirectTarget.close());
    const one = await customer(context, (response) => response.writeHead(307, { location: redirectTarget.url }).end());
    await one.ping();
    const [letter] = await deadLetters(one);
    expect(letter).toMatchObject({ last_failure: 'HTTP 307', attempts });
    expect(redirectTarget.received).toEqual([]);
    expect(one.receiver.received.every(({ path }) => path === '/hook')).toBe(true);
  });

  test('fails if the certificate of the receiver is not trusted', async (context) => {
    const { expect } = context;
    const one = await customer(context, undefined, await makePrivateCa());
    await one.ping();
    const [letter] = await deadLetters(one);
    expect(letter!.last_failure).toMatch(/^its certificate is /);
    expect(one.receiver.received).toEqual([]);
  });

  test('in progress during a rotation is signed with the old secret, and its retry with the new one', async (context) => {
    const { expect } = context;
    let refuse: (() => void) | undefined;
    const one = await customer(context, (response, _delivered, count) => {
      if (count > 1) response.end();
      else refuse = () => response.writeHead(500).end();
    });
    await one.ping();
    const [first] = await one.arrivals(1);
    const { secret } = RotateSecretResponse.parse((await one.call('POST', `${endpoint}/rotate`)).body);
    refuse!();
    const [, second] = await one.arrivals(2);
    expect(signedWith(one.secret, first!)).toBe(true);
    expect(signedWith(secret, second!)).toBe(true);
    expect(signedWith(one.secret, second!)).toBe(false);
  });

  test('in progress when the endpoint is deleted is not retried, and waiting events are dropped', async (context) => {
    const { expect } = context;
    let refuse: (() => void) | undefined;
    const one = await customer(context, (response) => {
      refuse = () => response.writeHead(500).end();
    });
    await one.ping();
    await one.arrivals(1);
    await one.ping();
    expect((await one.call('DELETE', endpoint)).status).toBe(204);
    refuse!();
    const failure = () => server.logged('webhook failed').find(({ accountId }) => accountId === one.accountId);
    await until(async () => failure());
    await nothingWaits(one);
    expect(one.receiver.received).toHaveLength(1);
    expect((await admin.listDeadLetters()).filter(({ account_id }) => account_id === one.accountId)).toEqual([]);
  });

  test('that always fails becomes a dead letter after 5 retries, and is delivered when an operator replays it', {
    tags: 'slow',
  }, async (context) => {
    const { expect } = context;
    let healthy = false;
    const one = await customer(context, (response) => response.writeHead(healthy ? 204 : 503).end());
    await one.ping();
    await one.ping();
    const letters = await until(async () => {
      const found = await deadLetters(one);
      return found.length === 2 && found;
    });
    expect(one.receiver.received).toHaveLength(2 * attempts);
    for (const letter of letters) expect(letter).toMatchObject({ event: 'ping', attempts, last_failure: 'HTTP 503' });
    healthy = true;
    const [first, second] = letters.map(({ event_id }) => event_id);
    await admin.replayDeadLetters({ eventId: first! });
    await one.arrivals(2 * attempts + 1);
    // Replays every dead letter since that time. This account has one left; those of other tests just fail again.
    // Retries are jittered, so the second event may have become a dead letter first.
    const firstDeadAt = Math.min(...letters.map(({ dead_at }) => Date.parse(dead_at)));
    await admin.replayDeadLetters({ since: new Date(firstDeadAt - 1) });
    await one.arrivals(2 * attempts + 2);
    expect(one.receiver.received.slice(-2).map(({ event }) => event.event_id)).toEqual([first, second]);
  });
});

describe.concurrent('the events of a job over HTTPS', () => {
  test('are first attempted in order, even if each first attempt fails', async (context) => {
    const { expect } = context;
    const firsts = new Map<string, unknown>();
    const concurrency = new ConcurrencyMeter();
    const one = await customer(context, (response, { event }) => {
      if (firsts.has(event.event_id)) return void response.end();
      firsts.set(event.event_id, event);
      concurrency.begin();
      // Slow enough for the next delivery to start, unless it waits.
      setTimeout(() => {
        concurrency.end();
        response.writeHead(500).end();
      }, 150);
    });
    const created = await one.call('POST', '/v1/jobs', { type: 'reserved', input: {} });
    const { job_id } = CreateJobResponse.parse(created.body);
    await one.arrivals(4);
    expect(concurrency.max).toBe(1);
    expect([...firsts.values()]).toMatchObject([
      { task_id: job_id, status: 'PENDING', progress: 0 },
      { task_id: job_id, status: 'FAILED', error: { code: 'unsupported_type' } },
    ]);
  });
});

// After the other tests, so that they do not compete for the processor.
describe('silent receivers', () => {
  test('of ten accounts with many events do not delay other accounts', async (context) => {
    const { expect } = context;
    let givenUp = 0;
    let givenUpBefore: number | undefined;
    const well = await customer(context, (response) => {
      givenUpBefore = givenUp;
      response.end();
    });
    const hang: Responder = (response) => void response.on('close', () => givenUp++);
    const dead = await Promise.all(Array.from({ length: 10 }, () => customer(context, hang)));
    await Promise.all(dead.flatMap((one) => Array.from({ length: 8 }, () => one.ping())));
    // The requests take a while to arrive. None of them may be close to its timeout.
    const lately = () => Date.now() - 8_000;
    await until(async () => dead.every(({ receiver }) => (receiver.received.at(-1)?.at ?? 0) > lately()), 60_000);
    givenUp = 0;
    await well.ping();
    await well.arrivals(1);
    // This delivery waited for none of them.
    expect(givenUpBefore).toBe(0);
    await Promise.all(dead.map((one) => one.call('DELETE', endpoint)));
  });
});
