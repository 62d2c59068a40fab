import { CreateJobResponse, Task } from '@gen3d/schema';
import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/config.js';
import { worker } from '../../src/index.js';
import { asDataUri, ballPhoto } from '../ball-photo.js';
import { newPostgresDatabase, smallModels, startServer, temporaryFolder, until } from '../kit.js';
import { bucketName, sharedS3 } from '../s3/kit.js';

const s3 = sharedS3();

test('a worker that shares only the database and the bucket with the server makes a model of an inline image', async () => {
  const database = await newPostgresDatabase();
  const shared = { database, assets: `s3://${bucketName}/elsewhere`, s3Endpoint: s3.endpoint() };
  const server = await startServer({ ...shared, dataDir: temporaryFolder(), workers: 0 });
  const elsewhere = { ...shared, ...smallModels, workers: 1, dataDir: temporaryFolder() };
  const logged: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line) => void logged.push(line) });
  const { close } = await worker(loadConfig({}, {}, elsewhere), { log });
  let closed: Promise<void> | undefined;
  const closeOnce = () => (closed ??= close());
  onTestFinished(closeOnce);
  const photo = { type: 'image-to-3d', input: { image_urls: [asDataUri(ballPhoto())] } };
  const { job_id } = CreateJobResponse.parse((await server.call('POST', '/v1/jobs', photo)).body);
  const task = await until(async () => {
    const task = Task.parse((await server.call('GET', `/v1/jobs/${job_id}`)).body);
    return task.finished_at !== null && task;
  }, 50_000);
  expect(task.status).toBe('SUCCEEDED');
  expect((await fetch(task.model_urls!.glb)).headers.get('content-type')).toBe('model/gltf-binary');
  await closeOnce();
  expect(logged).toEqual([]);
});
