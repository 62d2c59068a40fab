// Slow because most tests need their own server and runner, and each takes seconds to start.
import { hostname } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { version } from '../src/base/version.js';
import { currentTime } from '../src/data/db/time.js';
import { dataDirOf } from '../src/data/installation/data-dir.js';
import { liveRunners } from '../src/data/runners/registry.js';
import { RunnerStartError, worker } from '../src/index.js';
import { ballPhoto, transparentPhoto } from './ball-photo.js';
import { createJob, finishedJob, type Installation, imageJob, silent, site, startServer, until } from './kit.js';
import { openDatabase } from './open-database.js';

const withRunner = { workers: 1, leaseSeconds: 2 };
const ball = imageJob(ballPhoto());
const needle = imageJob(ballPhoto(160, 0.1));

async function rowsOf(installation: Installation) {
  const db = openDatabase(dataDirOf(installation).database);
  const jobs = await db.selectFrom('jobs').selectAll().orderBy('id').execute();
  const charges = await db.selectFrom('ledger').selectAll().where('kind', '=', 'charge').execute();
  await db.destroy();
  return { jobs, charges };
}

async function runnersOf(installation: Installation) {
  const db = openDatabase(dataDirOf(installation).database);
  const runners = await liveRunners(db, currentTime(db));
  await db.destroy();
  return runners;
}

test('a job fails with the code of its problem, and the next job succeeds', async () => {
  const server = await startServer({ ...withRunner, allowPrivateNetwork: true });
  const host = await site((request, response) => {
    if (request.url === '/page') response.end('<!doctype html><html></html>');
    else response.writeHead(404).end();
  });
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"></svg>');
  const jobs = {
    no_foreground: imageJob(transparentPhoto()),
    image_invalid: imageJob(ballPhoto().subarray(0, 300)),
    'image_invalid, an SVG': imageJob(svg),
    'image_invalid, a page': imageJob(`${host}/page`),
    'image_fetch_failed, a 404': imageJob(`${host}/nothing`),
    unsupported_type: { type: 'other', input: {} },
  };
  for (const [expected, body] of Object.entries(jobs)) {
    const task = await finishedJob(server.call, await createJob(server.call, body));
    expect(task).toMatchObject({ status: 'FAILED', error: { code: expected.split(',')[0] } });
    if (expected === 'unsupported_type') expect(task.progress).toBe(0);
  }
  const { charges } = await rowsOf(server.config);
  const good = await finishedJob(server.call, await createJob(server.call, needle));
  expect(good.status).toBe('SUCCEEDED');
  expect((await rowsOf(server.config)).charges).toHaveLength(charges.length + 1);
});

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
