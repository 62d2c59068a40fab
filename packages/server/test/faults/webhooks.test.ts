// Deliveries over real HTTPS, to receivers that misbehave. The slow tests run concurrently.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CreateJobResponse, RotateSecretResponse, WebhookEndpoint } from '@gen3d/schema';
import { afterAll, beforeAll, describe, type TestContext, test } from 'vitest';
import { type Admin, openAdmin } from '../../src/admin.js';
import { loadConfig } from '../../src/config.js';
import { type Db, openDatabase } from '../../src/data/db/open.js';
import { openDataDir } from '../../src/data/installation/data-dir.js';
import { ConcurrencyMeter, type Installation, newInstallation, until } from '../kit.js';
import { makePrivateCa, type PrivateCa } from './private-ca.js';
import { type Answering, openReceiver, type Receiver, signedWith } from './receiver.js';
import { type ServerProcess, spawnServer } from './server-process.js';

const retryDelaySeconds = 0.4;
const pingDelaySeconds = 0.1;
const attempts = 6;
const endpoint = '/v1/webhook-endpoint';

const endings: (() => void | Promise<void>)[] = [];
let installation: Installation;
let ca: PrivateCa;
let server: ServerProcess;
let admin: Admin;
let db: Db;

beforeAll(async () => {
  installation = await newInstallation((end) => void endings.push(end));
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
  db = openDatabase(openDataDir(installation).database);
});

afterAll(async () => {
  await admin?.close();
  await db?.destroy();
  await server?.kill();
  for (const end of endings.reverse()) await end();
});

interface Customer {
  accountId: string;
  /** The secret that signs at first. */
  secret: string;
  receiver: Receiver;
  call: ServerProcess['call'];
  ping(): Promise<void>;
  /** Waits until so many requests have arrived. */
  arrivals(count: number, timeoutMs?: number): Promise<Receiver['received']>;
}

/** An account of its own with a receiver of its own. */
async function customer({ onTestFinished }: TestContext, answer?: Answering, shownCa = ca): Promise<Customer> {
  const { account_id } = await admin.createAccount('customer', 10);
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
const outboxIsEmpty = ({ accountId }: Customer) =>
  until(async () => {
    const events = db.selectFrom('outbox').select('seq').where('account_id', '=', accountId);
    return (await events.execute()).length === 0;
  });

/** The dead letters of one account, as soon as there is one. */
const deadLetters = ({ accountId }: Customer, timeoutMs?: number) =>
  until(async () => {
    const letters = (await admin.listDeadLetters()).filter(({ account_id }) => account_id === accountId);
    return letters.length > 0 && letters;
  }, timeoutMs);

describe.concurrent('a delivery over HTTPS', () => {
  test('that meets 500 twice is retried after its pauses with the same event, and signed anew each time', async (context) => {
    const { expect } = context;
    const one = await customer(context, (response, _delivered, count) =>
      response.writeHead(count < 3 ? 500 : 200).end(),
    );
    await one.ping();
    await outboxIsEmpty(one);
    const { received } = one.receiver;
    expect(received).toHaveLength(3);
    expect(new Set(received.map(({ body }) => body.toString())).size).toBe(1);
    for (const delivered of received) expect(signedWith(one.secret, delivered)).toBe(true);
    const pauses = received.slice(1).map(({ at }, i) => at - received[i]!.at);
    for (const ms of pauses) expect(ms).toBeGreaterThan(retryDelaySeconds * 1_000 * 0.75);
  });

  test('that is cut off by a reset is retried', async (context) => {
    const { expect } = context;
    const one = await customer(context, (response, _delivered, count, request) => {
      if (count === 1) request.socket.destroy();
      else response.end();
    });
    await one.ping();
    const [first, second] = await one.arrivals(2);
    expect(second!.body.equals(first!.body)).toBe(true);
  });

  test('that is redirected has failed, and nobody goes where it points', async (context) => {
    const { expect } = context;
    const elsewhere = await openReceiver(ca);
    context.onTestFinished(() => elsewhere.close());
    const one = await customer(context, (response) => response.writeHead(307, { location: elsewhere.url }).end());
    await one.ping();
    const [letter] = await deadLetters(one);
    expect(letter).toMatchObject({ last_failure: 'HTTP 307', attempts });
    expect(elsewhere.received).toEqual([]);
    expect(one.receiver.received.every(({ path }) => path === '/hook')).toBe(true);
  });

  test('is not made to a receiver whose certificate nobody vouches for', async (context) => {
    const { expect } = context;
    const one = await customer(context, undefined, await makePrivateCa());
    await one.ping();
    const [letter] = await deadLetters(one);
    expect(letter!.last_failure).toMatch(/certificate|self.signed|verif/i);
    expect(one.receiver.received).toEqual([]);
  });

  test('in flight during a rotation keeps the old signature, and its retry carries the new one', async (context) => {
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

  test('in flight when the endpoint is deleted is not retried, and what waited is dropped', async (context) => {
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
    await outboxIsEmpty(one);
    expect(one.receiver.received).toHaveLength(1);
    expect((await admin.listDeadLetters()).filter(({ account_id }) => account_id === one.accountId)).toEqual([]);
  });

  test('that always fails is a dead letter after its 5 retries, and arrives when an operator replays it', async (context) => {
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
    // All that died since a time: only one is left of this account, and other tests' letters only die again.
    // The one queued second may have been the first to die: retries are jittered.
    const firstDeath = Math.min(...letters.map(({ dead_at }) => Date.parse(dead_at)));
    await admin.replayDeadLetters({ since: new Date(firstDeath - 1) });
    await one.arrivals(2 * attempts + 2);
    expect(one.receiver.received.slice(-2).map(({ event }) => event.event_id)).toEqual([first, second]);
  });
});

describe.concurrent('the events of a job over HTTPS', () => {
  test('have their first attempts in order though each of them fails at first', async (context) => {
    const { expect } = context;
    const firsts = new Map<string, unknown>();
    const concurrency = new ConcurrencyMeter();
    const one = await customer(context, (response, { event }) => {
      if (firsts.has(event.event_id)) return void response.end();
      firsts.set(event.event_id, event);
      concurrency.begin();
      // Slow enough for the next event to begin meanwhile, if it did not wait.
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

// After the others, so that these receivers hang while few others want the processor.
describe('dead receivers', () => {
  test('of ten accounts with much to tell delay nobody else', async (context) => {
    const { expect } = context;
    let givenUp = 0;
    let givenUpMeanwhile: number | undefined;
    const well = await customer(context, (response) => {
      givenUpMeanwhile = givenUp;
      response.end();
    });
    const hang: Answering = (response) => void response.on('close', () => givenUp++);
    const dead = await Promise.all(Array.from({ length: 10 }, () => customer(context, hang)));
    await Promise.all(dead.flatMap((one) => Array.from({ length: 8 }, () => one.ping())));
    // To ask for all that takes its time, and none of them may be about to be given up anyway.
    const lately = () => Date.now() - 5_000;
    await until(async () => dead.every(({ receiver }) => (receiver.received.at(-1)?.at ?? 0) > lately()), 60_000);
    givenUp = 0;
    await well.ping();
    await well.arrivals(1);
    // It has waited for none of them.
    expect(givenUpMeanwhile).toBe(0);
    await Promise.all(dead.map((one) => one.call('DELETE', endpoint)));
  });
});
