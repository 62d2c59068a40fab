// Slow because most tests need their own server and runner, and each takes seconds to start.
import { hostname } from 'node:os';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { version } from '../src/base/version.js';
import { currentTime } from '../src/data/db/time.js';
import { dataDirOf } from '../src/data/installation/data-dir.js';
import { stagesOf } from '../src/data/jobs/stage-times.js';
import { liveRunners } from '../src/data/runners/registry.js';
import { RunnerStartError, worker } from '../src/index.js';
import { ballPhoto, transparentPhoto } from './ball-photo.js';
import { spawnServer } from './faults/server-process.js';
import {
  createJob,
  finishedJob,
  type Installation,
  imageJob,
  newInstallation,
  readJob,
  silent,
  site,
  startServer,
  type TestServer,
  until,
} from './kit.js';
import { openDatabase } from './open-database.js';

const withRunner = { workers: 1, leaseSeconds: 2 };
/** The inference of a ball takes long enough to be interrupted. */
const slow = { ...withRunner, resolution: 128 };
const ball = imageJob(ballPhoto());
const needle = imageJob(ballPhoto(160, 0.1));

/** In the order in which a job passes through them. */
const allStages = [
  'prepare',
  ...['matte', 'frame', 'encode', 'field', 'surface', 'unwrap', 'bake', 'thumbnail', 'write'],
  'store',
];

async function bytesAt(url: string): Promise<Buffer> {
  return Buffer.from(await (await fetch(url)).arrayBuffer());
}

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

test('an image becomes a GLB and a thumbnail at permanent URLs, and is charged by the second', async () => {
  const server = await startServer({ ...withRunner, rates: { g6e: 0.002 }, instance: 'g6e' });
  const task = await finishedJob(server.call, await createJob(server.call, ball));
  expect(task).toMatchObject({ status: 'SUCCEEDED', progress: 100, error: null });
  const inGallery = await server.call('GET', `/gen3d/jobs/${task.task_id}`);
  expect(inGallery.body).toMatchObject({ warnings: ['low_resolution'] });
  expect((await bytesAt(task.model_urls!.glb)).toString('latin1', 0, 4)).toBe('glTF');
  expect((await bytesAt(task.thumbnail_url!)).toString('hex', 0, 3)).toBe('ffd8ff');

  const { charges, jobs } = await rowsOf(server.config);
  expect(charges).toMatchObject([{ job_id: task.task_id, instance: 'g6e' }]);
  const stages = stagesOf(jobs[0]!.stage_ms)!;
  expect(stages.map(({ stage }) => stage)).toEqual(allStages);
  for (const { ms } of stages) expect(Number.isSafeInteger(ms) && ms >= 0).toBe(true);
  // The inference consists of the engine's stages, and the short times between them.
  const inEngine = stages.slice(1, -1).reduce((sum, { ms }) => sum + ms, 0);
  expect(inEngine).toBeGreaterThan(0);
  expect(inEngine).toBeLessThanOrEqual(charges[0]!.inference_ms! + allStages.length);
  const metrics = await until(async () => {
    const text = String((await server.call('GET', '/metrics')).body);
    return text.includes('gen3d_inference_duration_seconds_count 1') && text;
  });
  for (const stage of allStages) expect(metrics).toContain(`gen3d_stage_duration_seconds_count{stage="${stage}"} 1`);

  const { inference_ms, amount_microusd } = charges[0]!;
  expect(amount_microusd).toBe(-inference_ms! * 2);
  expect((await server.call('GET', '/v1/balance')).body).toMatchObject({ balance_usd: (10e6 + amount_microusd) / 1e6 });
});

describe('on a server without rates', () => {
  let server: TestServer;
  const cleanups: (() => void | Promise<void>)[] = [];
  beforeAll(async () => {
    const settings = { ...withRunner, allowPrivateNetwork: true };
    server = await startServer(settings, { atEnd: (cleanup) => void cleanups.push(cleanup) });
  });
  afterAll(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
  });

  test('an image is fetched from its URL, and its job costs nothing', async () => {
    const host = await site((_request, response) => response.end(ballPhoto()));
    const id = await createJob(server.call, imageJob(`${host}/ball`));
    expect((await finishedJob(server.call, id)).status).toBe('SUCCEEDED');
    expect((await server.call('GET', '/v1/balance')).body).toMatchObject({ balance_usd: 10, rates: { cpu: 0 } });
  });

  test('a job fails with the code of its problem, and the next job succeeds', async () => {
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
});

test('after its runner is killed, a job is done once by the next runner, and its status and progress never decrease', async () => {
  const pids: number[] = [];
  const log = pino(
    { level: 'info', base: null },
    {
      write: (line) => {
        const { msg, pid } = JSON.parse(line);
        if (msg === 'runner is ready') pids.push(pid);
      },
    },
  );
  const server = await startServer(slow, { log });
  const ids = [await createJob(server.call, ball), await createJob(server.call, needle)];
  await until(async () => (await readJob(server.call, ids[0]!)).status === 'IN_PROGRESS');
  const before = await readJob(server.call, ids[0]!);
  expect((await runnersOf(server.config)).map(({ pid }) => pid)).toEqual([pids[0]]);
  process.kill(pids[0]!, 'SIGKILL');
  expect((await readJob(server.call, ids[0]!)).progress).toBeGreaterThanOrEqual(before.progress);
  for (const id of ids) expect((await finishedJob(server.call, id)).status).toBe('SUCCEEDED');
  const runners = (await runnersOf(server.config)).map(({ pid }) => pid);
  expect(runners).toEqual([pids.at(-1)]);
  expect(runners).not.toContain(pids[0]);
  const { jobs, charges } = await rowsOf(server.config);
  expect(jobs[0]?.attempt).toBe(2);
  expect(charges.map(({ job_id }) => job_id).sort()).toEqual([...ids].sort());
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

test('after all processes are killed, the next start does every accepted job, and each is charged once', async () => {
  const installation = await newInstallation();
  const start = () => {
    const server = spawnServer({ ...slow, ...installation });
    onTestFinished(() => server.kill());
    return server;
  };
  const first = start();
  const ids = [await createJob(first.call, ball), await createJob(first.call, needle)];
  await until(async () => (await readJob(first.call, ids[0]!)).status === 'IN_PROGRESS');
  // The runner notices that its parent is gone, and exits.
  await first.kill();
  const second = start();
  for (const id of ids) expect((await finishedJob(second.call, id)).status).toBe('SUCCEEDED');
  await second.kill();
  const { charges } = await rowsOf(installation);
  expect(charges.map(({ job_id }) => job_id).sort()).toEqual([...ids].sort());
});
