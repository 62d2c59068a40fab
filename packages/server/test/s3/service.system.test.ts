// A whole server that stores models and images in a bucket. Slow because each test starts a server.
import { readdirSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { CreateJobResponse, publicTestKey, Task } from '@gen3d/schema';
import pino from 'pino';
import { expect, test } from 'vitest';
import { newUlid } from '../../src/base/ids.js';
import { S3AssetStore } from '../../src/cluster/s3/s3-asset-store.js';
import { ballPhoto } from '../ball-photo.js';
import { refused } from '../contract/kit.js';
import {
  assetFiles,
  createJob,
  databaseOf,
  finishedJob,
  imageJob,
  newInstallation,
  silent,
  site,
  startServer,
  type TestServer,
  until,
} from '../kit.js';
import { bucketName, keysIn, sharedS3 } from './kit.js';

const s3 = sharedS3();
const withRunner = { workers: 1 };
const photo = imageJob(ballPhoto(), { back: ballPhoto() });
const photoAtUrl = imageJob('https://example.com/photo.jpg');

async function withBucket(settings: Record<string, unknown> = {}, log: pino.Logger = silent) {
  const installation = await newInstallation();
  const { bucket, prefix, url } = s3.emptyBucket();
  const assets = `s3://${bucketName}/${prefix}`;
  const all = { ...installation, assets, s3Endpoint: s3.endpoint(), noTestKey: true, ...settings };
  const server = await startServer(all, { log });
  const db = databaseOf(installation);
  return { server, bucket, url, db };
}

const create = (server: TestServer, body: unknown = photo) => createJob(server.call, body);
const finished = (server: TestServer, id: string) => finishedJob(server.call, id);

test('an image becomes a GLB at the URL of the bucket; the image stays too, and neither was on the disk', async () => {
  const { server, bucket, db } = await withBucket(withRunner);
  const task = await finished(server, await create(server));
  expect(task).toMatchObject({ status: 'SUCCEEDED', error: null });
  const model = await fetch(task.model_urls!.glb);
  expect(model.headers.get('content-type')).toBe('model/gltf-binary');
  expect(Buffer.from(await model.arrayBuffer()).toString('latin1', 0, 4)).toBe('glTF');
  expect((await fetch(task.thumbnail_url!)).headers.get('content-type')).toBe('image/jpeg');

  const { model_key } = await db.selectFrom('jobs').selectAll().executeTakeFirstOrThrow();
  expect(await keysIn(bucket, 'assets/')).toEqual(assetFiles(model_key!).map((file) => `assets/${file}`));
  expect(await keysIn(bucket, `inputs/${task.task_id}.`)).not.toEqual([]);
  expect(readdirSync(join(server.config.dataDir, 'inputs'))).toEqual([]);
  expect(readdirSync(server.config.dataDir)).not.toContain('assets');
});

test('the URLs of assets start with --assets-url, and those below /assets redirect there', async () => {
  const { server } = await withBucket({ assetsUrl: 'https://cdn.example.com/models' });
  const key = `${newUlid()}/0123456789abcdef_-ABCD/model.glb`;
  const get = (path: string, method = 'GET') => fetch(server.url + path, { method, redirect: 'manual' });
  const moved = await get(`/assets/${key}`);
  expect(moved.status).toBe(302);
  expect(moved.headers.get('location')).toBe(`https://cdn.example.com/models/${key}`);
  expect(moved.headers.get('access-control-allow-origin')).toBe('*');
  for (const path of ['', 'inputs/x', `${key}/x`, '../v1/jobs', `${newUlid()}/model.glb`, '/evil.example/model.glb']) {
    const answer = await get(`/assets/${path}`);
    expect([path, answer.status === 302, answer.headers.get('location')]).toEqual([path, false, null]);
  }
  expect((await get(`/assets/${key}`, 'POST')).status).toBe(404);
});

test('an assets URL of this server gives 404 instead of a redirect loop', async () => {
  const { server } = await withBucket({ assetsUrl: 'https://gen3d.example.com/assets' });
  const options = { headers: { host: 'gen3d.example.com' } };
  const status = await new Promise((resolve, reject) => {
    request(`${server.url}/assets/${newUlid()}/0123456789abcdef_-ABCD/model.glb`, options)
      .on('response', (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end();
  });
  expect(status).toBe(404);
});

test('the sample of the test key is in the bucket too', async () => {
  const { server, bucket } = await withBucket({ noTestKey: false });
  const answer = await server.call('POST', '/v1/jobs', photoAtUrl, publicTestKey);
  const { job_id } = CreateJobResponse.parse(answer.body);
  const task = Task.parse((await server.call('GET', `/v1/jobs/${job_id}`, undefined, publicTestKey)).body);
  expect((await fetch(task.model_urls!.glb)).status).toBe(200);
  expect(await keysIn(bucket)).toEqual([expect.stringMatching(/model.glb$/), expect.stringMatching(/thumbnail.jpg$/)]);
});

test('a bucket without public access is named in the log at the start', async () => {
  const closed = await site((_request, response) => response.writeHead(403).end());
  const assets = `s3://${bucketName}/${newUlid()}`;
  let lines = '';
  const log = pino({ level: 'warn' }, { write: (line: string) => (lines += line) });
  await startServer({ ...(await newInstallation()), assets, s3Endpoint: s3.endpoint(), assetsUrl: closed }, { log });
  await until(async () => lines.includes(`The assets are not public: ${closed}/sample/`));
});

test('an image that cannot be stored gives 503 and creates no job; an image at a URL needs no store', async () => {
  const { server, bucket } = await withBucket();
  s3.proxy().down = true;
  const answer = await server.call('POST', '/v1/jobs', { ...photo, idempotency_key: 'once' });
  expect(refused(answer, 503, 'internal_error')).toBe('The image cannot be stored at the moment; try again later');
  expect(answer.headers.get('retry-after')).toBe('5');
  const other = await create(server, photoAtUrl);
  s3.proxy().mend();
  expect((await server.call('GET', '/v1/jobs')).body).toMatchObject({ jobs: [{ task_id: other }] });
  await until(async () => (await keysIn(bucket)).length === 0);
  // The client repeats the request with the same key, and it is accepted.
  await create(server, { ...photo, idempotency_key: 'once' });
  expect(await keysIn(bucket)).toHaveLength(2);
});

test('a job whose image cannot be read, or with refused credentials, loses no attempt and is done later', async () => {
  const { server, db } = await withBucket(withRunner);
  s3.proxy().plan(/^GET .*GetObject/, ...Array(6).fill('cut'), { status: 400, code: 'ExpiredToken' });
  const id = await create(server);
  const row = () => db.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  for (const _fault of ['cut', 'ExpiredToken']) {
    const waiting = await until(async () => {
      const job = await row();
      return job.lease_token === null && job.lease_expires_at !== null && job;
    });
    expect(waiting).toMatchObject({ status: 'PENDING', attempt: 0, finished_at: null });
    // Ends the pause.
    await db.updateTable('jobs').set({ lease_expires_at: null }).where('id', '=', id).execute();
  }
  expect((await finished(server, id)).status).toBe('SUCCEEDED');
  expect((await row()).attempt).toBe(1);
});

test('a runner that is killed while its model is stored costs the job nothing, and one model remains', async () => {
  const runners: number[] = [];
  const log = pino(
    { base: null },
    { write: (line: string) => void (JSON.parse(line).pid && runners.push(JSON.parse(line).pid)) },
  );
  const { server, bucket, db } = await withBucket(withRunner, log);
  s3.proxy().plan(/^PUT .*thumbnail\.jpg/, 'silence');
  const id = await create(server);
  await until(async () => s3.proxy().seen.some(({ what }) => what.includes('thumbnail.jpg')), 110_000);
  process.kill(runners.at(-1)!, 'SIGKILL');
  expect((await finished(server, id)).status).toBe('SUCCEEDED');
  const { attempt, model_key } = await db.selectFrom('jobs').selectAll().executeTakeFirstOrThrow();
  expect(attempt).toBe(1);
  await new S3AssetStore(bucket).sweep(Date.now() + 60_000, async () => ({ finished: true, modelKey: model_key }));
  expect(await keysIn(bucket, 'assets/')).toEqual(assetFiles(model_key!).map((file) => `assets/${file}`));
});

test('storing a model is retried without another inference, and the model is charged and stored once', async () => {
  const { server, bucket, db } = await withBucket({ ...withRunner, rates: { g6e: 0.002 }, instance: 'g6e' });
  // The first write fails after 6 requests. The second succeeds although one response is lost.
  s3.proxy().plan(/^PUT .*model\.glb/, ...Array(6).fill('cut'), 'cut after');
  const id = await create(server);
  expect((await finished(server, id)).status).toBe('SUCCEEDED');
  const { attempt, model_key } = await db.selectFrom('jobs').selectAll().executeTakeFirstOrThrow();
  expect(attempt).toBe(1);
  expect(await db.selectFrom('ledger').selectAll().where('kind', '=', 'charge').execute()).toHaveLength(1);
  // The first write left only a marker, which the sweep removes.
  await expect.poll(() => keysIn(bucket, 'unsettled/')).toHaveLength(1);
  await new S3AssetStore(bucket).sweep(Date.now() + 60_000, async () => ({ finished: true, modelKey: model_key }));
  expect(await keysIn(bucket, 'assets/')).toEqual(assetFiles(model_key!).map((file) => `assets/${file}`));
  expect(await keysIn(bucket, 'unsettled/')).toEqual([]);
});
