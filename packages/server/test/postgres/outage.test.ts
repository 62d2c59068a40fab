// PostgreSQL becomes unavailable and returns while a server runs. Slow because each test starts a PostgreSQL.
import { CreateJobResponse, ErrorBody, Task } from '@gen3d/schema';
import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { asDataUri, ballPhoto } from '../ball-photo.js';
import { startServer, temporaryFolder, until } from '../kit.js';
import { openDatabase } from '../open-database.js';
import { startCluster } from './cluster.js';

/** Starts a server on its own PostgreSQL, and records its log. */
async function setUp(settings: Record<string, unknown>) {
  const cluster = await startCluster();
  onTestFinished(() => cluster.remove());
  const database = new URL(cluster.url);
  database.password = 's3cret';
  const logged: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line) => void logged.push(line) });
  const server = await startServer({ ...settings, dataDir: temporaryFolder(), database: database.href }, { log });
  return { cluster, server, database: database.href, logged };
}

test.each(['fast', 'crash'] as const)(
  'while PostgreSQL is unavailable (%s) the API answers 503 in the standard shape, and works again afterwards',
  async (how) => {
    const { cluster, server, logged } = await setUp({});
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
    expect((await server.call('GET', '/healthz', undefined, null)).status).toBe(503);
    // The checks of /readyz are cached for a moment.
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
    expect((await server.call('GET', '/healthz', undefined, null)).status).toBe(200);
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
  const { cluster, server } = await setUp({});
  expect((await server.call('GET', '/healthz', undefined, null)).status).toBe(200);
  await cluster.freeze();
  const start = performance.now();
  expect((await server.call('GET', '/healthz', undefined, null)).status).toBe(503);
  expect(performance.now() - start).toBeLessThan(20_000);
  await cluster.thaw();
  await until(async () => (await server.call('GET', '/healthz', undefined, null)).status === 200, 60_000);
});

test('a PostgreSQL that does not respond does not delay the shutdown', async () => {
  const { cluster, server } = await setUp({});
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
  const settings = {
    workers: 1,
    resolution: 128,
    leaseSeconds: 60,
    rates: { g6e: 0.002 },
    instance: 'g6e',
  };
  const { cluster, server, database } = await setUp(settings);
  const db = openDatabase(database);
  onTestFinished(() => db.destroy());
  const create = async () => {
    const body = { type: 'image-to-3d', input: { image_urls: [asDataUri(ballPhoto())] } };
    return CreateJobResponse.parse((await server.call('POST', '/v1/jobs', body)).body).job_id;
  };
  const read = async (id: string) => Task.parse((await server.call('GET', `/v1/jobs/${id}`)).body);
  const finished = (id: string) =>
    until(async () => {
      const now = await read(id);
      return now.finished_at !== null && now;
    }, 100_000);
  const charges = (id: string) => db.selectFrom('ledger').selectAll().where('job_id', '=', id).execute();

  // Measures an inference on this machine.
  const before = await create();
  await finished(before);
  const usualMs = (await charges(before))[0]!.inference_ms!;

  const id = await create();
  await until(async () => (await read(id)).status === 'IN_PROGRESS', 50_000);
  await cluster.stop();
  // The inference ends while PostgreSQL is unavailable.
  await new Promise((resolve) => setTimeout(resolve, 2 * usualMs));
  const availableAt = Date.now();
  await cluster.start();
  const task = await finished(id);
  expect(task.status).toBe('SUCCEEDED');
  expect((await fetch(task.model_urls!.glb)).status).toBe(200);
  expect(Date.parse(task.finished_at!)).toBeGreaterThanOrEqual(availableAt);
  const { attempt } = await db.selectFrom('jobs').select('attempt').where('id', '=', id).executeTakeFirstOrThrow();
  expect(attempt).toBe(1);
  expect(await charges(id)).toHaveLength(1);
});
