// PostgreSQL becomes unavailable and returns while a server runs. Slow because each test starts a PostgreSQL.

import { EnginePool } from '@gen3d/engine';
import { ErrorBody } from '@gen3d/schema';
import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { newUlid } from '../../src/base/ids.js';
import { FolderAssetStore } from '../../src/data/assets/folder-store.js';
import { migrate } from '../../src/data/db/open.js';
import { FolderInputStore } from '../../src/data/inputs/folder-store.js';
import { packPixels } from '../../src/data/inputs/stored-image.js';
import type { ModelMaker } from '../../src/work/runner/runner-protocol.js';
import { ballPixels } from '../ball-photo.js';
import { databaseOf, newAccount, newJob, startServer, temporaryFolder, until } from '../kit.js';
import { inProcess, readyRunner, testWorker } from '../worker-kit.js';
import { startCluster } from './cluster.js';

/** Starts a server on its own PostgreSQL, and records its log. */
async function setUp() {
  const cluster = await startCluster();
  onTestFinished(() => cluster.remove());
  const database = new URL(cluster.url);
  database.password = 's3cret';
  const logged: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line) => void logged.push(line) });
  const server = await startServer({ dataDir: temporaryFolder(), database: database.href }, { log });
  return { cluster, server, logged };
}

test.each(['fast', 'crash'] as const)(
  'while PostgreSQL is unavailable (%s) the API answers 503 in the standard shape, and works again afterwards',
  async (how) => {
    const { cluster, server, logged } = await setUp();
    const paths = ['/v1/balance', '/v1/jobs'] as const;
    for (const path of paths) expect((await server.call('GET', path)).status).toBe(200);
    await cluster.stop(how);
    for (const path of paths) {
      const { status, headers, body } = await server.call('GET', path);
      expect(status).toBe(503);
      expect(headers.get('retry-after')).toBe('5');
      expect(ErrorBody.parse(body).error).toEqual({
        code: 'internal_error',
        message: 'The database is temporarily unavailable; try again later',
      });
    }
    // Probes are cached for a second.
    await until(async () => (await server.call('GET', '/healthz', undefined, null)).status === 503);
    const ready = await until(async () => {
      const answer = await server.call('GET', '/readyz', undefined, null);
      return JSON.stringify(answer.body).includes('temporarily unavailable') && answer;
    });
    expect(ready).toMatchObject({
      status: 503,
      body: { checks: { database: 'temporarily unavailable', assets: 'ok', runners: 'unknown without the database' } },
    });
    const metrics = async () => (await server.call('GET', '/metrics', undefined, null)).body;
    const unavailable = await until(async () => {
      const text = String(await metrics());
      return /^gen3d_database_up 0$/m.test(text) && text;
    });
    expect(unavailable).not.toMatch(/^gen3d_accounts_below_zero \d/m);
    await cluster.start();
    for (const path of paths) expect((await server.call('GET', path)).status).toBe(200);
    await until(async () => (await server.call('GET', '/healthz', undefined, null)).status === 200);
    await until(async () => /^gen3d_database_up 1$/m.test(String(await metrics())));
    expect(await metrics()).toMatch(/^gen3d_accounts_below_zero 0$/m);
    expect(logged.join()).not.toContain('s3cret');
    const entries = logged.map((line) => JSON.parse(line));
    // The end of a short outage is logged after a quiet moment.
    await until(async () => logged.some((line) => line.includes('the database is available again')));
    expect(entries.filter(({ level }) => level >= 50)).toMatchObject([{ msg: 'the database is unavailable' }]);
    expect(logged.join()).not.toContain('"stack"');
  },
);

test('a PostgreSQL that does not respond makes /healthz 503 long before the query times out', async () => {
  const { cluster, server } = await setUp();
  expect((await server.call('GET', '/healthz', undefined, null)).status).toBe(200);
  await cluster.freeze();
  const start = performance.now();
  await until(async () => (await server.call('GET', '/healthz', undefined, null)).status === 503);
  expect(performance.now() - start).toBeLessThan(20_000);
  await cluster.thaw();
  await until(async () => (await server.call('GET', '/healthz', undefined, null)).status === 200, 60_000);
});

test('a PostgreSQL that does not respond does not delay the shutdown', async () => {
  const { cluster, server } = await setUp();
  expect((await server.call('GET', '/v1/balance')).status).toBe(200);
  await cluster.freeze();
  // Each of these waits for its response for 30 s.
  const waiting = Array.from({ length: 3 }, () => server.call('GET', '/v1/balance').catch(() => undefined));
  const start = performance.now();
  await server.close({ graceMs: 0 });
  expect(performance.now() - start).toBeLessThan(20_000);
  await cluster.thaw();
  await Promise.all(waiting);
});

test('a job whose inference ends while PostgreSQL is unavailable is finished afterwards, in its first attempt, and charged once', async () => {
  const cluster = await startCluster();
  onTestFinished(() => cluster.remove());
  const db = databaseOf(cluster.url);
  await migrate(db);
  const engine = await EnginePool.open({ bundle: 'inflate', matte: 'isnet', device: 'cpu', modelDirs: [] });
  onTestFinished(() => engine.close());
  const maker = inProcess(engine);
  let stopped = false;
  let isMade = false;
  let isStarted = false;
  const waiting: ModelMaker = {
    ...maker,
    async generate(...request) {
      isStarted = true;
      await until(async () => stopped);
      return maker.generate(...request).finally(() => {
        isMade = true;
      });
    },
  };
  const inputs = new FolderInputStore(temporaryFolder());
  const assets = new FolderAssetStore(temporaryFolder());
  const runner = readyRunner(waiting);
  let hasSucceeded = false;
  const succeeded = () => {
    hasSucceeded = true;
  };
  const observer = { claimed() {}, waited() {}, failed() {}, succeeded };
  const worker = testWorker({ db, inputs, assets, observer }, { runner, leaseMs: 60_000 });
  const id = newUlid();
  await inputs.replace(id, 'front', packPixels(ballPixels()));
  await newJob(db, await newAccount(db), { id });
  await worker.start();

  await until(async () => isStarted);
  await cluster.stop();
  stopped = true;
  await until(async () => isMade);
  expect(hasSucceeded).toBe(false);
  await cluster.start();
  await until(async () => hasSucceeded);
  const job = await db.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  expect(job).toMatchObject({ status: 'SUCCEEDED', attempt: 1 });
  expect(await assets.has(job.model_key!)).toBe(true);
  expect(await db.selectFrom('ledger').selectAll().where('job_id', '=', id).execute()).toHaveLength(1);
});
