// Several servers use one database. SQLite has only one writer; PostgreSQL needs locks for the same guarantees.

import { CreateJobResponse, ListJobsResponse, WebhookEndpoint } from '@gen3d/schema';
import { sql } from 'kysely';
import { describe, expect, onTestFinished, test } from 'vitest';
import { KeyRing } from '../../src/base/server-key.js';
import { withSharedTables } from '../../src/cluster/postgres/shared-tables.js';
import { loadConfig } from '../../src/config.js';
import { balanceOf, credit } from '../../src/data/accounts/ledger.js';
import { type Db, kindOf } from '../../src/data/db/database.js';
import { currentTime } from '../../src/data/db/time.js';
import { transaction } from '../../src/data/db/transaction.js';
import { claim } from '../../src/data/jobs/claim.js';
import { advance, cancel, LeaseLostError } from '../../src/data/jobs/lifecycle.js';
import { Endpoints, SecretBox } from '../../src/data/webhooks/endpoints.js';
import { recordTaskUpdated } from '../../src/data/webhooks/events.js';
import { worker } from '../../src/index.js';
import { photoJob } from '../contract/kit.js';
import {
  adminOf,
  callServer,
  databaseOf,
  eventsOf,
  newAccount,
  newInstallation,
  newJob,
  newKey,
  newPostgresDatabase,
  silent,
  smallModels,
  startServer,
  type TestServer,
  temporaryFolder,
  until,
  withEndpoint,
} from '../kit.js';

const leaseMs = 30_000;

/** Starts two servers concurrently with the same data directory and an empty database. */
async function twoServers(settings: Record<string, unknown> = {}) {
  const database = await newPostgresDatabase(undefined, 'template0');
  const dataDir = temporaryFolder();
  const start = () => startServer({ ...settings, dataDir, database });
  const servers = await Promise.all([start(), start()]);
  const apiKey = servers.map((server) => server.apiKey).find((key) => key !== '')!;
  const [one, other] = servers.map(
    ({ url }) =>
      (method: string, path: string, body?: unknown) =>
        callServer(url, method, path, body, apiKey),
  );
  return { database, servers, one: one!, other: other! };
}

/** Two independent connection pools of one database. */
async function twoPools() {
  const database = await newPostgresDatabase();
  return { one: databaseOf(database), other: databaseOf(database) };
}

/** Waits until a connection waits for a lock. Not inside the transaction that holds it, which sees only one snapshot. */
const lockWaits = (db: Db) =>
  until(async () => {
    const { rows } = await sql`select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
    return rows.length === 1;
  });

describe('two servers that start concurrently on an empty database', () => {
  test('create its tables, one account with one key, and one sandbox', async () => {
    const { servers, one, other, database } = await twoServers();
    expect(servers.filter(({ bootstrap }) => bootstrap)).toHaveLength(1);
    for (const call of [one, other]) expect((await call('GET', '/v1/balance')).status).toBe(200);
    const accounts = databaseOf(database).selectFrom('accounts').select(['name', 'sandbox']).orderBy('sandbox');
    expect(await accounts.execute()).toEqual([
      { name: 'default', sandbox: 0 },
      { name: 'sandbox', sandbox: 1 },
    ]);
  });

  test('accept each other’s webhook secrets and page cursors', async () => {
    const { one, other } = await twoServers();
    const { secret } = WebhookEndpoint.parse(
      (await one('PUT', '/v1/webhook-endpoint', { url: 'https://x.example/' })).body,
    );
    expect((await other('GET', '/v1/webhook-endpoint')).body).toMatchObject({ secret });
    for (let i = 0; i < 3; i++) await one('POST', '/v1/jobs', photoJob());
    const { next_cursor } = ListJobsResponse.parse((await one('GET', '/v1/jobs?limit=2')).body);
    const rest = ListJobsResponse.parse((await other('GET', `/v1/jobs?limit=2&cursor=${next_cursor}`)).body);
    expect(rest.jobs).toHaveLength(1);
  });
});

describe('the server key', () => {
  const key = 'ab'.repeat(32);
  const openWith = (database: string, serverKey?: string) =>
    adminOf({ config: loadConfig({}, {}, { dataDir: temporaryFolder(), database, serverKey }) });

  test('in the settings must be the same on every server, and is not stored in the database', async () => {
    const { database } = await newInstallation();
    await openWith(database, key);
    await openWith(database, key.toUpperCase());
    await expect(openWith(database, 'cd'.repeat(32))).rejects.toThrow('GEN3D_SERVER_KEY is not the key');
    await expect(openWith(database)).rejects.toThrow('set up with GEN3D_SERVER_KEY');
    const kept = await withSharedTables(databaseOf(database)).selectFrom('server_key').selectAll().execute();
    expect(JSON.stringify(kept)).not.toContain(key);
  });

  test('in the settings is replaced server by server, and then the old one can be removed', async () => {
    const installation = await newInstallation();
    const next = 'cd'.repeat(32);
    const servers = [];
    for (const serverKey of [key, `${key},${next}`, `${next},${key}`]) {
      servers.push(await startServer({ ...installation, serverKey }));
    }
    const [first, accepting, replacing] = servers as [TestServer, TestServer, TestServer];
    await first.call('PUT', '/v1/webhook-endpoint', { url: 'https://example.com/hook' });
    await first.close();
    await (await adminOf(replacing)).rotateServerKey();
    // The second one still writes with the old key.
    for (const { call } of [replacing, accepting, replacing]) {
      expect((await call('GET', '/v1/webhook-endpoint', undefined, first.apiKey)).status).toBe(200);
    }
    for (const { close } of [accepting, replacing]) await close();
    const last = await startServer({ ...installation, serverKey: next });
    expect((await last.call('GET', '/v1/webhook-endpoint', undefined, first.apiKey)).status).toBe(200);
    await expect(openWith(installation.database, key)).rejects.toThrow('GEN3D_SERVER_KEY is not the key');
  });

  test('is not needed by a worker', async () => {
    const installation = await newInstallation();
    await startServer({ ...installation, serverKey: key });
    const { close } = await worker(loadConfig({}, {}, { ...installation, ...smallModels }), { log: silent });
    await close();
  });

  test('in the database excludes another one in the settings', async () => {
    const { database } = await newInstallation();
    await Promise.all([openWith(database), openWith(database), openWith(database)]);
    await expect(openWith(database, key)).rejects.toThrow('GEN3D_SERVER_KEY is not the key');
  });
});

test('two servers share one rate bucket', async () => {
  const { one, other } = await twoServers({ rateLimit: '1:10' });
  const started = performance.now();
  const answers = await Promise.all(Array.from({ length: 60 }, (_, i) => (i % 2 ? one : other)('GET', '/v1/balance')));
  const seconds = (performance.now() - started) / 1_000;
  const passed = answers.filter(({ status }) => status === 200).length;
  expect(passed).toBeGreaterThanOrEqual(10);
  expect(passed).toBeLessThanOrEqual(11 + seconds);
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused).toHaveLength(60 - passed);
  for (const { headers } of refused) expect(headers.get('retry-after')).toBe('1');
});

describe('when two processes write one job', () => {
  async function inferring(one: Db) {
    const account = await newAccount(one);
    await withEndpoint(one, account);
    const id = await newJob(one, account);
    const { lease } = (await claim(one, { runner: 'a', now: currentTime(one), leaseMs }))!;
    return { account, id, lease };
  }

  test('the second sees what the first has written, and the events have the same order', async () => {
    const { one, other } = await twoPools();
    const { account, id, lease } = await inferring(one);
    let second: Promise<void> | undefined;
    await one.transaction().execute(async (trx) => {
      const job = await trx.updateTable('jobs').set({ progress: 70 }).where('id', '=', id).returningAll().execute();
      second = advance(other, lease, { status: 'IN_PROGRESS', progress: 50 }, currentTime(other));
      await lockWaits(one);
      await recordTaskUpdated(trx, job[0]!, currentTime(trx));
    });
    await second;
    await advance(other, lease, { status: 'IN_PROGRESS', progress: 80 }, currentTime(other));
    expect(await eventsOf(one, account)).toEqual([
      ['IN_PROGRESS', 30],
      ['IN_PROGRESS', 70],
      ['IN_PROGRESS', 80],
    ]);
  });

  test('a cancellation during a change of progress ends the job, and is its last event', async () => {
    const { one, other } = await twoPools();
    const { account, id, lease } = await inferring(one);
    let canceled: Promise<{ outcome: string }> | undefined;
    await one.transaction().execute(async (trx) => {
      await trx.updateTable('jobs').set({ progress: 40 }).where('id', '=', id).execute();
      canceled = cancel(other, id, currentTime(other));
      await lockWaits(one);
    });
    expect(await canceled).toMatchObject({ outcome: 'canceled' });
    expect((await eventsOf(one, account)).at(-1)).toEqual(['CANCELED', 40]);
    await expect(advance(one, lease, { status: 'IN_PROGRESS', progress: 50 }, currentTime(one))).rejects.toThrow(
      LeaseLostError,
    );
  });
});

test('a cancellation on the command line is announced to the machines', async () => {
  const database = await newPostgresDatabase();
  const db = databaseOf(database);
  const id = await newJob(db, await newAccount(db));
  let heard = 0;
  onTestFinished(
    kindOf(db)
      .wakeup(db, database)
      .listen({ job_canceled: () => heard++ }),
  );
  // A listener hears of what it may have missed.
  await until(async () => heard === 1);
  const admin = await adminOf({ config: loadConfig({}, {}, { dataDir: temporaryFolder(), database }) });
  await admin.cancelJob(id);
  await until(async () => heard === 2);
});

test('the deletions of an account use one connection, while another account deletes a job', async () => {
  const database = await newPostgresDatabase();
  const server = await startServer({ database, workers: 0 });
  const db = databaseOf(database);
  const { api_key: otherKey } = await newKey(await adminOf(server), 'other');
  const create = async (key: string) =>
    CreateJobResponse.parse((await server.call('POST', '/v1/jobs', photoJob(), key)).body).job_id;
  const remove = async (id: string, key: string) =>
    (await server.call('DELETE', `/gen3d/jobs/${id}`, undefined, key)).status;
  const ids = await Promise.all(Array.from({ length: 4 }, () => create(server.apiKey)));
  const ofOther = await create(otherKey);
  let removed: Promise<number[]> | undefined;
  await transaction(db, async (trx) => {
    await trx.selectFrom('jobs').select('id').where('id', 'in', ids).forUpdate().execute();
    removed = Promise.all(ids.map((id) => remove(id, server.apiKey)));
    await lockWaits(db);
    expect(await remove(ofOther, otherKey)).toBe(204);
    await lockWaits(db);
  });
  expect(await removed).toEqual([204, 204, 204, 204]);
});

test('deleting the endpoint drops the event that another server is recording', async () => {
  const { one, other } = await twoPools();
  const account = await newAccount(one);
  await withEndpoint(one, account);
  const id = await newJob(one, account);
  let removed: Promise<void> | undefined;
  await one.transaction().execute(async (trx) => {
    const job = await trx.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    await recordTaskUpdated(trx, job, currentTime(trx));
    removed = new Endpoints(other, new SecretBox(new KeyRing([Buffer.alloc(32)]))).remove(account);
    await lockWaits(one);
  });
  await removed;
  expect(await eventsOf(one, account)).toEqual([]);
});

test('the balance contains all entries that two servers add concurrently', async () => {
  const { one, other } = await twoPools();
  const account = await newAccount(one);
  const before = await balanceOf(one, account);
  const enter = (db: Db) => transaction(db, (trx) => credit(trx, account, 1, currentTime(trx)));
  await Promise.all(Array.from({ length: 40 }, (_, i) => enter(i % 2 ? one : other)));
  expect(await balanceOf(one, account)).toBe(before + 40);
});

test('a transaction that was aborted because of a deadlock is repeated', async () => {
  const { one, other } = await twoPools();
  const [a, b] = [await newAccount(one), await newAccount(one)];
  let met = 0;
  const swap = (db: Db, first: string, second: string) =>
    transaction(db, async (trx) => {
      await credit(trx, first, 1, 0);
      met++;
      await until(async () => met >= 2);
      await credit(trx, second, 1, 0);
    });
  await Promise.all([swap(one, a, b), swap(other, b, a)]);
  expect(met).toBe(3);
  for (const account of [a, b]) expect(await balanceOf(one, account)).toBe(10_000_002);
});
