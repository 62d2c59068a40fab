// The connection to PostgreSQL breaks after a statement was executed and before its response arrives.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CreateJobResponse, Task } from '@gen3d/schema';
import { expect, onTestFinished, test } from 'vitest';
import { asDataUri, ballPhoto } from '../ball-photo.js';
import { newInstallation, startServer, temporaryFolder, until } from '../kit.js';
import { openDatabase } from '../open-database.js';
import { losingProxy } from './losing-proxy.js';

test('a job whose COMMIT succeeded without a response keeps its image, and its idempotency key returns it', async () => {
  const { database } = await newInstallation();
  const proxy = await losingProxy(database, {
    statement: 'commit\0',
    after: 'insert into "jobs"',
    tag: 'COMMIT',
  });
  const dataDir = temporaryFolder();
  const server = await startServer({
    dataDir,
    database: proxy.url,
    workers: 1,
  });
  const body = {
    type: 'image-to-3d',
    input: { image_urls: [asDataUri(ballPhoto())] },
    idempotency_key: 'order-1',
  };
  proxy.loseNext();
  const first = await server.call('POST', '/v1/jobs', body);
  expect(proxy.lost()).toBe(true);
  expect(first.status).toBe(503);
  expect(Number(first.headers.get('retry-after'))).toBeGreaterThan(0);

  const second = await server.call('POST', '/v1/jobs', body);
  expect(second.status).toBe(202);
  const { job_id: id } = CreateJobResponse.parse(second.body);
  const task = await until(async () => {
    const now = Task.parse((await server.call('GET', `/v1/jobs/${id}`)).body);
    return now.finished_at !== null && now;
  }, 100_000);
  expect(task.status).toBe('SUCCEEDED');
  const db = openDatabase(database);
  onTestFinished(() => db.destroy());
  const jobs = await db.selectFrom('jobs').select(['id', 'attempt']).execute();
  expect(jobs).toEqual([{ id, attempt: 1 }]);
  await until(async () => !existsSync(join(dataDir, 'inputs', id)));
});

test('a claim whose response is lost costs no attempt, and the job does not wait until the lease expires', async () => {
  const { database } = await newInstallation();
  const proxy = await losingProxy(database, { statement: 'update "jobs" set "attempt"', tag: 'UPDATE 1' });
  const dataDir = temporaryFolder();
  const server = await startServer({
    dataDir,
    database: proxy.url,
    workers: 1,
    leaseSeconds: 600,
  });
  proxy.loseNext();
  const body = { type: 'image-to-3d', input: { image_urls: [asDataUri(ballPhoto())] } };
  const { job_id: id } = CreateJobResponse.parse((await server.call('POST', '/v1/jobs', body)).body);
  await until(async () => proxy.lost());
  await until(
    async () => Task.parse((await server.call('GET', `/v1/jobs/${id}`)).body).status === 'SUCCEEDED',
    100_000,
  );
  const db = openDatabase(database);
  onTestFinished(() => db.destroy());
  expect(await db.selectFrom('jobs').select(['attempt', 'taken_over']).execute()).toEqual([
    { attempt: 1, taken_over: 0 },
  ]);
});
