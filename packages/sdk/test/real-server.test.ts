import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
// Built, and not a dependency: whoever installs the SDK has no use for the server.
import { createLog, loadConfig, type Server, serve } from '../../server/dist/index.js';
import {
  AuthenticationError,
  Gen3d,
  InvalidRequestError,
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
  // No runner: what finishes here finishes with the test key.
  const settings = { dataDir: folder, port: 0, workers: 0, rateLimit: 'off', bootstrapApiKey: apiKey };
  const quiet = { write: () => true };
  const config = loadConfig({}, {}, settings);
  server = await serve(config, { log: createLog(config, 'silent'), stdout: quiet, stderr: quiet });
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

describe('with the test key', () => {
  test('a photo becomes a task with a model, whose bytes are a GLB', async () => {
    const task = await tester.generate(jpeg);
    expect(task).toMatchObject({ status: 'SUCCEEDED', progress: 100 });
    const glb = await tester.download(task);
    expect(new TextDecoder().decode(glb.subarray(0, 4))).toBe('glTF');
    expect((await tester.download(task.task_id, { asset: 'thumbnail' })).subarray(0, 2)).toEqual(
      Uint8Array.of(0xff, 0xd8),
    );
  });
});

describe('one create makes one job', () => {
  test('though every answer but the last was lost on the way', async () => {
    const before = (await jobsOf(gen3d)).length;
    let lost = 0;
    const losing = new Gen3d({
      apiKey,
      baseUrl: server.url,
      fetch: async (input, init) => {
        const response = await fetch(input, init);
        if (++lost > 2) return response;
        throw new TypeError('the connection broke after the server had done its work');
      },
    });
    const { job_id } = await losing.jobs.create({ image: jpeg });
    expect(lost).toBe(3);
    const after = await jobsOf(gen3d);
    expect(after).toHaveLength(before + 1);
    expect(after[0]).toMatchObject({ task_id: job_id, status: 'PENDING' });
  });

  test('though 20 send the same key at once', async () => {
    const before = (await jobsOf(gen3d)).length;
    const create = () => gen3d.jobs.create({ image: jpeg, idempotencyKey: 'order-7' });
    const made = await Promise.all(Array.from({ length: 20 }, create));
    expect(new Set(made.map(({ job_id }) => job_id)).size).toBe(1);
    expect(await jobsOf(gen3d)).toHaveLength(before + 1);
  });
});

test('the list gives every job once, newest first, over as many pages as it takes', async () => {
  for (let n = 0; n < 5; n += 1) await gen3d.jobs.create({ image: jpeg });
  const ids = (await jobsOf(gen3d)).map(({ task_id }) => task_id);
  expect(ids.length).toBeGreaterThanOrEqual(5);
  expect(ids).toEqual([...new Set(ids)].sort().reverse());
});

test('the balance is what the account was given', async () => {
  expect(await gen3d.balance.retrieve()).toMatchObject({ balance_usd: 10, min_balance_usd: 1 });
});

test('a webhook endpoint is set, read, rotated and deleted', async () => {
  await expect(gen3d.webhookEndpoint.get()).rejects.toBeInstanceOf(NotConfiguredError);
  await expect(gen3d.webhookEndpoint.test()).rejects.toMatchObject({ name: 'NotConfiguredError', status: 409 });
  const { secret } = await gen3d.webhookEndpoint.set('https://example.com/hook');
  expect(await gen3d.webhookEndpoint.get()).toEqual({ url: 'https://example.com/hook', secret });
  const rotated = await gen3d.webhookEndpoint.rotate();
  expect(rotated.secret).not.toBe(secret);
  expect(await gen3d.webhookEndpoint.test()).toEqual({ queued: true });
  await gen3d.webhookEndpoint.delete();
  await expect(gen3d.webhookEndpoint.rotate()).rejects.toBeInstanceOf(NotConfiguredError);
});

describe('what the server refuses', () => {
  test('a wrong key', async () => {
    const stranger = new Gen3d({ apiKey: 'gen3d_wrong', baseUrl: server.url });
    await expect(stranger.balance.retrieve()).rejects.toBeInstanceOf(AuthenticationError);
  });

  test("an unknown job, another account's job, and an id that is a path", async () => {
    const { job_id } = await tester.jobs.create({ image: jpeg });
    for (const id of [jobId, job_id, '../balance']) {
      await expect(gen3d.jobs.retrieve(id)).rejects.toBeInstanceOf(NotFoundError);
    }
  });

  test('a cursor that it never issued, by name', async () => {
    const error = await gen3d.jobs
      .list({ cursor: 'made-up' })
      .page()
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidRequestError);
    expect(error).toMatchObject({ code: 'invalid_cursor', status: 400, requestId: expect.any(String) });
  });
});
