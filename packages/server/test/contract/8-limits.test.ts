import { limits, publicTestKey } from '@gen3d/schema';
import { encodeTime, ulid } from 'ulid';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { FolderAssetStore } from '../../src/data/assets/folder-store.js';
import { dataDirOf } from '../../src/data/installation/data-dir.js';
import { enqueueJob } from '../../src/data/jobs/job-store.js';
import {
  type ApiResponse,
  adminOf,
  databaseOf,
  newInstallation,
  newJob,
  newKey,
  onPostgres,
  startServer,
  until,
} from '../kit.js';
import { openDatabase } from '../open-database.js';
import { photoJob, refused } from './kit.js';

const dayMs = 24 * 60 * 60 * 1_000;

/** Stops the clock of a server's bucket, which then gains no tokens. On PostgreSQL, the database's clock goes on. */
function stopClock(): void {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
}

/** Lets time pass for the bucket. */
async function pass(ms: number): Promise<void> {
  vi.advanceTimersByTime(ms);
  if (onPostgres) await new Promise((resolve) => setTimeout(resolve, ms));
}

function expectPassed(responses: readonly ApiResponse[], burst: number): void {
  const passed = responses.filter(({ status }) => status === 200).length;
  if (onPostgres) expect(passed).toBeGreaterThanOrEqual(burst);
  else expect(passed).toBe(burst);
  const others = responses.filter(({ status }) => status !== 200);
  for (const { status, body } of others) {
    expect({ status, body }).toEqual({ status: 429, body: { message: 'Too Many Requests' } });
  }
}

describe('8 the request rate', () => {
  test('is 50 a second with a burst of 100, shared by all keys; beyond it 429 {"message":"Too Many Requests"}', async () => {
    stopClock();
    const server = await startServer({ rateLimit: undefined });
    expect(server.config.rateLimit).toEqual({ perSecond: 50, burst: 100 });
    const admin = await adminOf(server);
    const { api_key: other } = await newKey(admin, 'other');
    const read = (_: unknown, i: number) => server.call('GET', '/v1/balance', undefined, i % 2 ? other : server.apiKey);
    expectPassed(await Promise.all(Array.from({ length: 300 }, read)), 100);
    if (onPostgres) return;
    await pass(1_000);
    expectPassed(await Promise.all(Array.from({ length: 100 }, read)), 50);
  });

  test('leaves room in the bucket for an account that sends little while another sends as much as it can', async () => {
    stopClock();
    const server = await startServer({ rateLimit: '10:20' });
    const admin = await adminOf(server);
    const { api_key: greedy } = await newKey(admin, 'greedy');
    const statusOf = async (key: string) => (await server.call('GET', '/v1/balance', undefined, key)).status;
    const sendMany = (count: number) => Promise.all(Array.from({ length: count }, () => statusOf(greedy)));
    expect(await sendMany(100)).toContain(429);
    const statuses: number[] = [];
    for (let round = 0; round < 20; round++) {
      await pass(200);
      await sendMany(10);
      statuses.push(await statusOf(server.apiKey));
    }
    // The first may find the bucket empty.
    expect(statuses.slice(2)).toEqual(Array(18).fill(200));
  });

  test('is there for a single account again within a second after another one has used it up', async () => {
    stopClock();
    const server = await startServer({ rateLimit: '50:50' });
    const admin = await adminOf(server);
    const { api_key: busy } = await newKey(admin, 'busy');
    const read = (key: string) => server.call('GET', '/v1/balance', undefined, key);
    const readMany = (count: number, key: string) => Promise.all(Array.from({ length: count }, () => read(key)));
    await readMany(100, busy);
    await pass(1_000);
    const statuses = (await readMany(50, server.apiKey)).map(({ status }) => status);
    expect(statuses).toEqual(Array(50).fill(200));
  });

  test('a refused request succeeds after its Retry-After', async () => {
    stopClock();
    const server = await startServer({ rateLimit: '1:5' });
    const responses = await Promise.all(Array.from({ length: 30 }, () => server.call('GET', '/v1/balance')));
    expectPassed(responses, 5);
    const waits = responses.filter(({ status }) => status === 429).map(({ headers }) => headers.get('retry-after'));
    expect(new Set(waits)).toEqual(new Set(['1']));
    await pass(1_000);
    expect((await server.call('GET', '/v1/balance')).status).toBe(200);
  });

  test('requests with the public test key are limited separately', async () => {
    const server = await startServer({ rateLimit: '1:5' });
    const statuses = (key: string) =>
      Promise.all(
        Array.from({ length: 30 }, async () => (await server.call('GET', '/v1/balance', undefined, key)).status),
      );
    const testKeyStatuses = await statuses(publicTestKey);
    expect(testKeyStatuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(5);
    expect(testKeyStatuses).toContain(429);
    expect((await statuses(server.apiKey)).filter((status) => status === 200).length).toBeGreaterThanOrEqual(5);
  });

  test('requests without a key do not count, and are always 403', async () => {
    const server = await startServer({ rateLimit: '1:5' });
    const all = (key?: null) =>
      Promise.all(Array.from({ length: 30 }, () => server.call('GET', '/v1/balance', undefined, key)));
    const statuses = async (key?: null) => (await all(key)).map(({ status }) => status);
    expect(new Set(await statuses(null))).toEqual(new Set([403]));
    expect((await statuses()).filter((status) => status === 200).length).toBeGreaterThanOrEqual(5);
    expect(new Set(await statuses(null))).toEqual(new Set([403]));
    expect((await server.call('GET', '/healthz', undefined, null)).status).toBe(200);
  });
});

describe('8 open jobs', () => {
  test('are limited to 1,000 per account; beyond that 429 {"message":"Too Many Requests"} with Retry-After', async () => {
    const server = await startServer();
    expect(server.config.maxOpenJobs).toBe(1_000);
    const db = databaseOf(server);
    const blank = { type: 'image-to-3d', idempotency_key: null, image_urls: null, created_at: 0 };
    await db.transaction().execute(async (trx) => {
      const account_id = server.bootstrap!.accountId;
      for (let i = 0; i < 999; i++) await enqueueJob(trx, { id: ulid(), account_id, ...blank }, server.config);
    });
    const create = (idempotency_key: string, key = server.apiKey) =>
      server.call('POST', '/v1/jobs', photoJob({ idempotency_key }), key);
    const last = await create('last');
    expect(last.status).toBe(202);
    const { status, headers, body } = await create('beyond');
    expect({ status, body }).toEqual({ status: 429, body: { message: 'Too Many Requests' } });
    expect(headers.get('retry-after')).toBe('5');
    // A repeated request returns its job, and jobs of the test key are never open.
    expect(await create('last')).toMatchObject({ status: 202, body: last.body });
    expect(await create('beyond', 'gen3d_test_public')).toMatchObject({ status: 202 });
  });
});

describe('8 quotas', () => {
  test('an account creates 100,000 jobs a day; beyond that 429 quota_exceeded until midnight, except for a repeat', async () => {
    expect((await startServer()).config.maxJobsPerDay).toBe(100_000);
    const server = await startServer({ maxJobsPerDay: '2' });
    const create = (idempotency_key: string, key = server.apiKey) =>
      server.call('POST', '/v1/jobs', photoJob({ idempotency_key }), key);
    const [first] = [await create('1'), await create('2')];
    const response = await create('3');
    expect(refused(response, 429, 'quota_exceeded')).toMatch(/2 jobs today.*after midnight UTC/);
    const seconds = Number(response.headers.get('retry-after'));
    expect(new Date(Date.now() + seconds * 1_000 + 1_000).getUTCHours()).toBe(0);
    expect(await create('1')).toMatchObject({ status: 202, body: first.body });
    expect(await create('3', publicTestKey)).toMatchObject({ status: 202 });
  });
});

describe('8 retention', () => {
  test('a task record is kept for 90 days, and its files longer', async () => {
    const installation = await newInstallation();
    const before = await startServer({ ...installation });
    const { database, assets } = dataDirOf(installation);
    const db = openDatabase(database);
    // Without a recorded time, the next server would take its clock for one that has jumped by 90 days.
    await until(() => db.selectFrom('clean_up').select('id').executeTakeFirst());
    await before.close();
    const agedJob = async (days: number) => {
      const created_at = Date.now() - days * dayMs;
      const id = ulid(created_at);
      expect(id.slice(0, 10)).toBe(encodeTime(created_at));
      const keys = await new FolderAssetStore(assets).put(id, Buffer.from('glTF'), Buffer.from('jpeg'));
      await newJob(db, before.bootstrap!.accountId, {
        id,
        created_at,
        finished_at: created_at,
        status: 'SUCCEEDED',
        progress: 100,
        model_key: keys.modelKey,
        thumbnail_key: keys.thumbnailKey,
      });
      return { id, ...keys };
    };
    const kept = await agedJob(limits.taskRetentionDays - 0.01);
    const old = await agedJob(limits.taskRetentionDays + 0.01);
    await db.destroy();

    const server = await startServer({ ...installation });
    const call = (path: string) => server.call('GET', path, undefined, before.apiKey);
    await until(async () => (await call(`/v1/jobs/${old.id}`)).status === 404);
    expect((await call(`/v1/jobs/${old.id}`)).body).toMatchObject({ error: { code: 'not_found' } });
    const { jobs } = (await call('/v1/jobs')).body as { jobs: { task_id: string }[] };
    expect(jobs.map(({ task_id }) => task_id)).toEqual([kept.id]);
    for (const { modelKey, thumbnailKey } of [kept, old]) {
      expect((await fetch(`${server.url}/assets/${modelKey}`)).status).toBe(200);
      expect((await fetch(`${server.url}/assets/${thumbnailKey}`)).status).toBe(200);
    }
  });
});
