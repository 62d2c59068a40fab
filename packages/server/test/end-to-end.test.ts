import { spawn } from 'node:child_process';
import { hostname } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { CreateJobResponse, Task } from '@gen3d/schema';
import pino from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { version } from '../src/base/version.js';
import { openDatabase } from '../src/data/db/open.js';
import { currentTime } from '../src/data/db/time.js';
import { openDataDir } from '../src/data/installation/data-dir.js';
import { stagesOf } from '../src/data/jobs/stage-times.js';
import { liveRunners } from '../src/data/runners/registry.js';
import { RunnerStartError, worker } from '../src/index.js';
import { asDataUri, ballPhoto, transparentPhoto } from './ball-photo.js';
import {
  callServer,
  type Installation,
  newInstallation,
  silent,
  site,
  smallModels,
  startServer,
  until,
} from './kit.js';

const withRunner = { workers: 1, leaseSeconds: 2 };
/** Makes an inference long enough to be interrupted. */
const slow = { resolution: 128 };

/** In the order in which a job passes through them. */
const allStages = [
  'prepare',
  ...['matte', 'frame', 'encode', 'field', 'surface', 'unwrap', 'bake', 'write', 'thumbnail'],
  'store',
];

type Call = (method: string, path: string, body?: unknown) => Promise<{ status: number; body: unknown }>;

async function create(call: Call, imageUrl: string): Promise<string> {
  const { body } = await call('POST', '/v1/jobs', { type: 'image-to-3d', input: { image_urls: [imageUrl] } });
  return CreateJobResponse.parse(body).job_id;
}

const read = async (call: Call, id: string) => Task.parse((await call('GET', `/v1/jobs/${id}`)).body);

const finished = (call: Call, id: string) =>
  until(async () => {
    const task = await read(call, id);
    return task.finished_at !== null && task;
  }, 120_000);

async function bytesAt(url: string): Promise<Buffer> {
  return Buffer.from(await (await fetch(url)).arrayBuffer());
}

async function rowsOf(place: Installation) {
  const db = openDatabase(openDataDir(place).database);
  const jobs = await db.selectFrom('jobs').selectAll().orderBy('id').execute();
  const charges = await db.selectFrom('ledger').selectAll().where('kind', '=', 'charge').execute();
  await db.destroy();
  return { jobs, charges };
}

async function runnersOf(place: Installation) {
  const db = openDatabase(openDataDir(place).database);
  const runners = await liveRunners(db, currentTime(db));
  await db.destroy();
  return runners;
}

describe('a photo', () => {
  test('becomes a GLB and a thumbnail at permanent URLs, and is charged for its seconds', async () => {
    const server = await startServer({ ...withRunner, rates: { g6e: 0.002 }, instance: 'g6e' });
    const task = await finished(server.call, await create(server.call, asDataUri(ballPhoto())));
    expect(task).toMatchObject({ status: 'SUCCEEDED', progress: 100, error: null });
    expect((await bytesAt(task.model_urls!.glb)).toString('latin1', 0, 4)).toBe('glTF');
    expect((await bytesAt(task.thumbnail_url!)).toString('hex', 0, 3)).toBe('ffd8ff');

    const { charges, jobs } = await rowsOf(server.config);
    expect(charges).toMatchObject([{ job_id: task.task_id, instance: 'g6e' }]);
    const stages = stagesOf(jobs[0]!.stage_ms)!;
    expect(stages.map(({ stage }) => stage)).toEqual(allStages);
    for (const { ms } of stages) expect(Number.isSafeInteger(ms) && ms >= 0).toBe(true);
    // The engine's own stages are the inference, but for what lies between them.
    const inEngine = stages.slice(1, -1).reduce((sum, { ms }) => sum + ms, 0);
    expect(inEngine).toBeGreaterThan(0);
    expect(inEngine).toBeLessThanOrEqual(charges[0]!.inference_ms! + allStages.length);
    // The runner's parent hears of the end a moment after the database.
    const metrics = await until(async () => {
      const text = String((await server.call('GET', '/metrics')).body);
      return text.includes('gen3d_inference_duration_seconds_count 1') && text;
    });
    for (const stage of allStages) expect(metrics).toContain(`gen3d_stage_duration_seconds_count{stage="${stage}"} 1`);

    const { inference_ms, amount_microusd } = charges[0]!;
    expect(amount_microusd).toBe(-inference_ms! * 2);
    expect((await server.call('GET', '/v1/balance')).body).toMatchObject({ balance_usd: 10 + amount_microusd / 1e6 });
  });

  test('at a URL is fetched, and the rates default to this machine at 0', async () => {
    const at = await site((_request, response) => response.end(ballPhoto()));
    const server = await startServer({ ...withRunner, allowPrivateNetwork: true });
    expect((await finished(server.call, await create(server.call, `${at}/ball`))).status).toBe('SUCCEEDED');
    expect((await server.call('GET', '/v1/balance')).body).toMatchObject({ balance_usd: 10, rates: { cpu: 0 } });
  });

  test('that is none fails with the code that says why, and the server goes on', async () => {
    const pages: Record<string, string> = { '/page': '<!doctype html><html></html>' };
    const at = await site((request, response) => {
      const page = pages[request.url ?? ''];
      response.writeHead(page ? 200 : 404).end(page);
    });
    const server = await startServer({ ...withRunner, allowPrivateNetwork: true });
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"></svg>');
    const jobs = {
      no_foreground: asDataUri(transparentPhoto()),
      image_invalid: asDataUri(ballPhoto().subarray(0, 300)),
      'image_invalid, an SVG': asDataUri(svg),
      'image_invalid, a page': `${at}/page`,
      'image_fetch_failed, a 404': `${at}/nothing`,
    };
    for (const [expected, imageUrl] of Object.entries(jobs)) {
      const task = await finished(server.call, await create(server.call, imageUrl));
      expect(task.status).toBe('FAILED');
      expect(task.error?.code).toBe(expected.split(',')[0]);
    }
    const other = await server.call('POST', '/v1/jobs', { type: 'other', input: {} });
    const unsupported = await finished(server.call, CreateJobResponse.parse(other.body).job_id);
    expect(unsupported).toMatchObject({ status: 'FAILED', progress: 0, error: { code: 'unsupported_type' } });
    const good = await finished(server.call, await create(server.call, asDataUri(ballPhoto())));
    expect(good.status).toBe('SUCCEEDED');
    expect((await rowsOf(server.config)).charges).toHaveLength(1);
  });
});

describe('when a runner is killed', () => {
  test('its job is done by the next one, once, and neither status nor progress falls', {
    timeout: 240_000,
  }, async () => {
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
    const server = await startServer({ ...withRunner, ...slow }, { log });
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) ids.push(await create(server.call, asDataUri(ballPhoto())));
    await until(async () => (await read(server.call, ids[0]!)).status === 'IN_PROGRESS');
    const before = await read(server.call, ids[0]!);
    expect((await runnersOf(server.config)).map(({ pid }) => pid)).toEqual([pids[0]]);
    process.kill(pids[0]!, 'SIGKILL');
    expect((await read(server.call, ids[0]!)).progress).toBeGreaterThanOrEqual(before.progress);
    for (const id of ids) expect((await finished(server.call, id)).status).toBe('SUCCEEDED');
    const runners = (await runnersOf(server.config)).map(({ pid }) => pid);
    expect(runners).toEqual([pids.at(-1)]);
    expect(runners).not.toContain(pids[0]);
    const { jobs, charges } = await rowsOf(server.config);
    expect(jobs[0]?.attempt).toBe(2);
    expect(charges.map(({ job_id }) => job_id).sort()).toEqual([...ids].sort());
  });
});

describe('close', () => {
  test('lets the job in inference finish, and hands the rest back without counting an attempt', async () => {
    const server = await startServer(withRunner);
    for (let i = 0; i < 6; i++) await create(server.call, asDataUri(ballPhoto()));
    await until(async () => (await rowsOf(server.config)).jobs.some(({ status }) => status === 'IN_PROGRESS'));
    await server.close({ graceMs: 100_000 });
    const { jobs } = await rowsOf(server.config);
    const [done, rest] = [jobs.filter(({ attempt }) => attempt > 0), jobs.filter(({ attempt }) => attempt === 0)];
    for (const job of done) expect(job).toMatchObject({ status: 'SUCCEEDED', attempt: 1, lease_token: null });
    for (const job of rest) expect(job).toMatchObject({ finished_at: null, lease_token: null });
    expect(done.length).toBeGreaterThan(0);
    expect(rest.length).toBeGreaterThan(0);
  });
});

test('a worker of its own takes jobs from a server that has none, and they are charged as done on its instance', async () => {
  const server = await startServer({ ...withRunner, workers: 0, instance: 't4', rates: { t4: 0.001, g6e: 0.002 } });
  // It is told what it is, and no prices.
  const { close } = await worker({ ...server.config, workers: 1, instance: 'g6e', rates: undefined }, { log: silent });
  onTestFinished(() => close({ graceMs: 0 }));
  expect(await runnersOf(server.config)).toMatchObject([
    { host: hostname(), instance: 'g6e', bundle: 'inflate', device: 'cpu', version, adapter: null, job_id: null },
  ]);
  const id = await create(server.call, asDataUri(ballPhoto()));
  await until(async () => (await runnersOf(server.config))[0]?.job_id === id);
  expect((await finished(server.call, id)).status).toBe('SUCCEEDED');
  const { charges } = await rowsOf(server.config);
  expect(charges).toMatchObject([{ job_id: id, instance: 'g6e' }]);
  expect(charges[0]!.amount_microusd).toBe(-charges[0]!.inference_ms! * 2);
  await close();
  expect(await runnersOf(server.config)).toEqual([]);
});

test('a worker on an instance that has no price does not start, and says what is missing', async () => {
  const server = await startServer({ ...withRunner, workers: 0, rates: { g6e: 0.002 } });
  const starting = worker({ ...server.config, workers: 1, rates: undefined }, { log: silent });
  await expect(starting).rejects.toThrow('There is no rate for this instance, "cpu". Set GEN3D_INSTANCE');
});

test('a bundle that is not there stops the start with a sentence that names it', async () => {
  await expect(startServer({ ...withRunner, bundle: 'no-such-bundle' })).rejects.toThrow(RunnerStartError);
  await expect(startServer({ ...withRunner, bundle: 'no-such-bundle' })).rejects.toThrow('no-such-bundle');
});

describe('when everything is killed at once', () => {
  const apiKey = 'gen3d_0123456789012345678901234567890123456789';

  /** The built server in a process of its own, as `gen3d serve` runs it. */
  async function serveElsewhere(place: Installation) {
    const settings = {
      ...smallModels,
      ...withRunner,
      ...slow,
      port: 0,
      ...place,
      bootstrapApiKey: apiKey,
      rateLimit: 'off',
    };
    const script = `
      import { loadConfig, serve } from '@gen3d/server';
      await serve(loadConfig({}, {}, ${JSON.stringify(settings)}));`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      cwd: fileURLToPath(new URL('..', import.meta.url)),
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const kill = () =>
      new Promise<void>((resolve) => {
        if (child.exitCode !== null || child.signalCode !== null) return resolve();
        child.once('exit', () => resolve());
        child.kill('SIGKILL');
      });
    onTestFinished(kill);
    for await (const line of createInterface({ input: child.stdout })) {
      const url = /listening on (http:\S+)/.exec(line)?.[1];
      if (url) {
        const call: Call = (method, path, body) => callServer(url, method, path, body, apiKey);
        return { call, kill };
      }
    }
    throw new Error('the server ended before it listened');
  }

  test('every job that was answered 202 is done after the next start, and charged once', {
    timeout: 240_000,
  }, async () => {
    const place = await newInstallation();
    const first = await serveElsewhere(place);
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) ids.push(await create(first.call, asDataUri(ballPhoto())));
    await until(async () => (await read(first.call, ids[0]!)).status === 'IN_PROGRESS');
    // Its runner notices that its parent is gone and leaves by itself.
    await first.kill();
    const second = await serveElsewhere(place);
    for (const id of ids) expect((await finished(second.call, id)).status).toBe('SUCCEEDED');
    await second.kill();
    const { charges } = await rowsOf(place);
    expect(charges.map(({ job_id }) => job_id).sort()).toEqual([...ids].sort());
  });
});
