import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CreateJobResponse, publicTestKey, Task } from '@gen3d/schema';
import { expect, test } from 'vitest';
import { databaseOf, startServer, type TestServer, temporaryFolder } from '../kit.js';

function sampleFolder(): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'model.glb'), 'glTF sample');
  writeFileSync(join(folder, 'thumbnail.jpg'), 'jpeg sample');
  return folder;
}

const photo = { type: 'image-to-3d', input: { image_urls: ['https://example.com/a.jpg'] } };
const withTestKey = (server: TestServer, method: string, path: string, body?: unknown) =>
  server.call(method, path, body, publicTestKey);

async function create(server: TestServer, body: unknown): Promise<Task> {
  const created = await withTestKey(server, 'POST', '/v1/jobs', body);
  expect(created.status).toBe(202);
  const { job_id } = CreateJobResponse.parse(created.body);
  return Task.parse((await withTestKey(server, 'GET', `/v1/jobs/${job_id}`)).body);
}

test('a job of the test key is SUCCEEDED when first read, has the sample model, and is free', async () => {
  const server = await startServer({}, { sampleFolder: sampleFolder() });
  const before = await withTestKey(server, 'GET', '/v1/balance');
  const task = await create(server, photo);
  expect(task).toMatchObject({ status: 'SUCCEEDED', progress: 100, error: null });
  expect(task.finished_at).not.toBeNull();
  expect(await (await fetch(task.model_urls!.glb)).text()).toBe('glTF sample');
  expect(await (await fetch(task.thumbnail_url!)).text()).toBe('jpeg sample');
  expect((await withTestKey(server, 'GET', '/v1/balance')).body).toEqual(before.body);
});

test('validation, idempotency and unsupported types work with the test key as with others', async () => {
  const server = await startServer({}, { sampleFolder: sampleFolder() });
  expect((await withTestKey(server, 'POST', '/v1/jobs', { type: 'image-to-3d' })).status).toBe(400);
  const keyed = { ...photo, idempotency_key: 'k' };
  expect((await create(server, keyed)).task_id).toBe((await create(server, keyed)).task_id);
  const views = { left: photo.input.image_urls[0], back: 'https://example.com/back.jpg' };
  expect(await create(server, { ...photo, input: { ...photo.input, views } })).toMatchObject({ status: 'SUCCEEDED' });
  expect(await create(server, { type: 'other', input: {} })).toMatchObject({
    status: 'FAILED',
    error: { code: 'unsupported_type' },
  });
});

test('the test key cannot read other accounts’ jobs, nor they its jobs', async () => {
  const server = await startServer({}, { sampleFolder: sampleFolder() });
  const { task_id } = await create(server, photo);
  expect((await server.call('GET', `/v1/jobs/${task_id}`)).status).toBe(404);
  const own = CreateJobResponse.parse((await server.call('POST', '/v1/jobs', photo)).body);
  expect((await withTestKey(server, 'GET', `/v1/jobs/${own.job_id}`)).status).toBe(404);
});

test('the test key gets 403 with the gateway’s body on the webhook routes', async () => {
  const server = await startServer({}, { sampleFolder: sampleFolder() });
  for (const [method, path] of [
    ['GET', ''],
    ['PUT', ''],
    ['DELETE', ''],
    ['POST', '/rotate'],
    ['POST', '/test'],
  ] as const) {
    const { status, body } = await withTestKey(server, method, `/v1/webhook-endpoint${path}`);
    expect(status).toBe(403);
    expect(body).toEqual({ message: 'Forbidden' });
  }
});

test('a body with the test key may have 256 KiB, and only the start of its type is stored', async () => {
  const server = await startServer({}, { sampleFolder: sampleFolder() });
  const post = (body: string) => withTestKey(server, 'POST', '/v1/jobs', body);
  const body = JSON.stringify({ ...photo, options: 'x' });
  expect((await post(body.padEnd(256 * 1024))).status).toBe(202);
  const { status, body: refusal } = await post(body.padEnd(256 * 1024 + 1));
  expect(status).toBe(400);
  expect(refusal).toMatchObject({ error: { code: 'invalid_request', message: expect.stringContaining('256 KiB') } });

  await create(server, { type: '💡'.repeat(50_000), input: {} });
  const db = databaseOf(server);
  const stored = await db.selectFrom('jobs').select('type').where('type', '!=', 'image-to-3d').execute();
  expect(stored).toEqual([{ type: '💡'.repeat(64) }]);
});

test('the test key can be disabled', async () => {
  const server = await startServer({ noTestKey: true }, { sampleFolder: sampleFolder() });
  expect((await withTestKey(server, 'GET', '/v1/balance')).status).toBe(403);
});
