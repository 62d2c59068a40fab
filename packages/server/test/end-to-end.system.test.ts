// Slow because most tests need their own server and runner, and each takes seconds to start.
import { hostname } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { version } from '../src/base/version.js';
import { currentTime } from '../src/data/db/time.js';
import { liveRunners } from '../src/data/runners/registry.js';
import { RunnerStartError, worker } from '../src/index.js';
import { ballPhoto } from './ball-photo.js';
import { createJob, databaseOf, finishedJob, type Installation, imageJob, silent, startServer, until } from './kit.js';

const withRunner = { workers: 1, leaseSeconds: 2 };
const ball = imageJob(ballPhoto());

async function rowsOf(installation: Installation) {
  const db = databaseOf(installation);
  const jobs = await db.selectFrom('jobs').selectAll().orderBy('id').execute();
  const charges = await db.selectFrom('ledger').selectAll().where('kind', '=', 'charge').execute();
  return { jobs, charges };
}

async function runnersOf(installation: Installation) {
  const db = databaseOf(installation);
  return liveRunners(db, currentTime(db));
}

test('a shutdown lets the running inference finish, and hands the other jobs back without counting an attempt', async () => {
  const server = await startServer(withRunner);
  for (let i = 0; i < 6; i++) await createJob(server.call, ball);
  await until(async () => (await rowsOf(server.config)).jobs.some(({ status }) => status === 'IN_PROGRESS'));
  // Much longer than the default, because an inference may take over 30 s on a busy machine.
  await server.close({ graceMs: 100_000 });
  const { jobs } = await rowsOf(server.config);
  const [done, rest] = [jobs.filter(({ attempt }) => attempt > 0), jobs.filter(({ attempt }) => attempt === 0)];
  for (const job of done) expect(job).toMatchObject({ status: 'SUCCEEDED', attempt: 1, lease_token: null });
  for (const job of rest) expect(job).toMatchObject({ finished_at: null, lease_token: null });
  expect(done.length).toBeGreaterThan(0);
  expect(rest.length).toBeGreaterThan(0);
});

test('a separate worker does the jobs of a server without runners, and they are charged at the rate of its instance', async () => {
  const server = await startServer({ instance: 't4', rates: { t4: 0.001, g6e: 0.002 } });
  // The worker knows its instance, but no rates.
  const { close } = await worker({ ...server.config, workers: 1, instance: 'g6e', rates: undefined }, { log: silent });
  onTestFinished(() => close({ graceMs: 0 }));
  expect(await runnersOf(server.config)).toMatchObject([
    { host: hostname(), instance: 'g6e', bundle: 'inflate', device: 'cpu', version, adapter: null, job_id: null },
  ]);
  const id = await createJob(server.call, ball);
  await until(async () => (await runnersOf(server.config))[0]?.job_id === id);
  expect((await finishedJob(server.call, id)).status).toBe('SUCCEEDED');
  const { charges } = await rowsOf(server.config);
  expect(charges).toMatchObject([{ job_id: id, instance: 'g6e' }]);
  expect(charges[0]!.amount_microusd).toBe(-charges[0]!.inference_ms! * 2);
  await close();
  expect(await runnersOf(server.config)).toEqual([]);
});

test('a worker whose instance has no rate does not start, and names the missing setting', async () => {
  const server = await startServer({ rates: { g6e: 0.002 } });
  const starting = worker({ ...server.config, workers: 1, rates: undefined }, { log: silent });
  await expect(starting).rejects.toThrow('No rate is set for this instance, "cpu". Set GEN3D_INSTANCE');
});

test('a server whose bundle is missing does not start, and names the bundle', async () => {
  const starting = startServer({ ...withRunner, bundle: 'no-such-bundle' });
  await expect(starting).rejects.toThrow(RunnerStartError);
  await expect(starting).rejects.toThrow('no-such-bundle');
});
