import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
// The build output: the SDK does not depend on the server.
import { createLog, loadConfig, type Server, serve } from '../../server/dist/index.js';
import {
  AuthenticationError,
  Gen3d,
  NotConfiguredError,
  NotFoundError,
  publicTestKey,
  type Task,
} from '../src/index.js';
import { jobId, jpeg } from './server.js';

const apiKey = 'gen3d_a_key_of_the_sdk_tests';
let folder: string;
let server: Server;
let gen3d: Gen3d;
let tester: Gen3d;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gen3d-sdk-'));
  // Without a runner, only jobs of the test key finish.
  const settings = { dataDir: folder, port: 0, workers: 0, rateLimit: 'off', bootstrapApiKey: apiKey };
  const silent = { write: () => true };
  const config = loadConfig({}, {}, settings);
  server = await serve(config, { log: createLog({ ...config, logLevel: 'silent' }), stdout: silent });
  gen3d = new Gen3d({ apiKey, baseUrl: server.url });
  tester = new Gen3d({ apiKey: publicTestKey, baseUrl: server.url });
});
afterAll(async () => {
  await server?.close({ graceMs: 0 });
  await rm(folder, { recursive: true, force: true });
});

async function jobsOf(client: Gen3d): Promise<Task[]> {
  const tasks: Task[] = [];
  for await (const task of client.jobs.list({ limit: 2 })) tasks.push(task);
  return tasks;
}

test('the test key turns a photo into a GLB and a JPEG thumbnail', async () => {
  const task = await tester.generate(jpeg);
  expect(task).toMatchObject({ status: 'SUCCEEDED', progress: 100 });
  const glb = await tester.download(task);
  expect(new TextDecoder().decode(glb.subarray(0, 4))).toBe('glTF');
  const thumbnail = await tester.download(task.task_id, { asset: 'thumbnail' });
  expect(thumbnail.subarray(0, 2)).toEqual(Uint8Array.of(0xff, 0xd8));
});

test('the test key accepts a photo that is larger than its limit for a request', async () => {
  const photo = new Uint8Array(1024 ** 2);
  photo.set(jpeg);
  const { status, model_urls } = await tester.generate(photo);
  expect({ status, hasModel: model_urls !== undefined }).toEqual({ status: 'SUCCEEDED', hasModel: true });
});

test('one job is created although all responses but the last are lost', async () => {
  const before = (await jobsOf(gen3d)).length;
  let responses = 0;
  const losing = new Gen3d({
    apiKey,
    baseUrl: server.url,
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      if (++responses > 2) return response;
      throw new TypeError('the connection broke after the server processed the request');
    },
  });
  const { job_id } = await losing.jobs.create({ image: jpeg });
  expect(responses).toBe(3);
  const after = await jobsOf(gen3d);
  expect(after).toHaveLength(before + 1);
  expect(after[0]).toMatchObject({ task_id: job_id, status: 'PENDING' });
});

test('sampler settings are checked before anything is sent', async () => {
  const created = gen3d.jobs.create({ image: jpeg, sampler: { steps: 0 } });
  await expect(created).rejects.toThrow('steps must be an integer from 1 to 100, not "0"');
  expect(await gen3d.jobs.create({ image: jpeg, sampler: { seed: 7, steps: 50 } })).toHaveProperty('job_id');
});

test('a label is stored with the job, and request calls routes that have no method', async () => {
  const label = 'Täßchen \uD800 100 %.jpg';
  const { job_id } = await gen3d.jobs.create({ image: jpeg, label });
  const found = await gen3d.request('get', `/gen3d/jobs/${job_id}`);
  expect(found).toMatchObject({ task_id: job_id, label: 'Täßchen \uFFFD 100 %.jpg' });
  const cancel = ['post', `/gen3d/jobs/${job_id}/cancel`, { repeatable: true }] as const;
  expect(await gen3d.request(...cancel)).toMatchObject({ status: 'CANCELED' });
  const list = gen3d.request('get', '/gen3d/jobs', { searchParams: { group: 'failed', search: 'TÄß' } });
  expect(await list).toMatchObject({ jobs: [{ task_id: job_id }], counts: { failed: 1 } });
  await expect(gen3d.request('get', '/gen3d/jobs/unknown')).rejects.toBeInstanceOf(NotFoundError);
  await expect(tester.request(...cancel)).rejects.toBeInstanceOf(AuthenticationError);
});

test('a job has the name of its photo’s file, by which list finds it', async () => {
  const path = join(folder, 'Kanne aus Ton.jpg');
  await writeFile(path, jpeg);
  const images = [path, pathToFileURL(path), pathToFileURL(path).href, new File([jpeg], 'upload/Kanne aus Ton.jpg')];
  for (const image of images) await gen3d.jobs.create({ image });
  const { jobs } = await gen3d.jobs.list({ search: 'aus ton' }).page();
  expect(jobs).toEqual(images.map(() => expect.objectContaining({ label: 'Kanne aus Ton.jpg' })));
});

test('a waiting job is canceled, retried as one new job, and deleted', async () => {
  const { job_id } = await gen3d.jobs.create({ image: jpeg });
  await expect(gen3d.jobs.retry(job_id)).rejects.toMatchObject({ code: 'not_retryable', status: 409 });
  expect(await gen3d.jobs.cancel(job_id)).toMatchObject({ task_id: job_id, status: 'CANCELED' });
  await expect(gen3d.jobs.cancel(job_id)).rejects.toMatchObject({ code: 'not_cancelable', status: 409 });
  const retried = await gen3d.jobs.retry(job_id);
  expect(retried.job_id).not.toBe(job_id);
  expect(await gen3d.jobs.retry(job_id)).toEqual(retried);
  await expect(gen3d.jobs.cancel(`${job_id}x`)).rejects.toBeInstanceOf(NotFoundError);
  await gen3d.jobs.delete(retried.job_id);
  await gen3d.jobs.delete(retried.job_id);
  await expect(gen3d.jobs.retrieve(retried.job_id)).rejects.toBeInstanceOf(NotFoundError);
  await expect(gen3d.jobs.delete(`${job_id}x`)).rejects.toBeInstanceOf(NotFoundError);
  await expect(gen3d.jobs.cancel('..')).rejects.toThrow('".." is not a job id');
  await expect(gen3d.jobs.retrieve(undefined as never)).rejects.toThrow('"undefined" is not a job id');
  await expect(gen3d.download(undefined as never)).rejects.toThrow('download takes a task, its id or the URL');
});

test('balance returns the balance of the account', async () => {
  expect(await gen3d.balance.retrieve()).toMatchObject({ balance_usd: 10, min_balance_usd: 1 });
});

test('a webhook endpoint can be set, read, rotated and deleted', async () => {
  await expect(gen3d.webhookEndpoint.get()).rejects.toBeInstanceOf(NotConfiguredError);
  await expect(gen3d.webhookEndpoint.test()).rejects.toMatchObject({ name: 'NotConfiguredError', status: 409 });
  const { secret } = await gen3d.webhookEndpoint.set('https://example.com/hook', { events: 'final' });
  expect(await gen3d.webhookEndpoint.get()).toMatchObject({ events: 'final' });
  await gen3d.webhookEndpoint.set('https://example.com/hook', { events: 'all' });
  expect(await gen3d.webhookEndpoint.get()).toEqual({ url: 'https://example.com/hook', secret });
  const rotated = await gen3d.webhookEndpoint.rotate();
  expect(rotated.secret).not.toBe(secret);
  expect(await gen3d.webhookEndpoint.test()).toEqual({ queued: true });
  await gen3d.webhookEndpoint.delete();
  await expect(gen3d.webhookEndpoint.rotate()).rejects.toBeInstanceOf(NotConfiguredError);
});

describe('the server rejects', () => {
  test('a wrong key', async () => {
    const stranger = new Gen3d({ apiKey: 'gen3d_wrong', baseUrl: server.url });
    await expect(stranger.balance.retrieve()).rejects.toBeInstanceOf(AuthenticationError);
  });

  test("an unknown job, another account's job, and a path instead of an id", async () => {
    const { job_id } = await tester.jobs.create({ image: jpeg });
    for (const id of [jobId, job_id, '../balance']) {
      await expect(gen3d.jobs.retrieve(id)).rejects.toBeInstanceOf(NotFoundError);
    }
  });
});
