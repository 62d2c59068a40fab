// The connection to PostgreSQL breaks after COMMIT was carried out and before its acknowledgement arrived.
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { CreateJobResponse, Task } from '@gen3d/schema';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/db/open.js';
import { asDataUri, ballPhoto } from '../ball-photo.js';
import { newInstallation, startServer, temporaryFolder, until } from '../kit.js';

/** A proxy before PostgreSQL. `url` leads through it. */
async function commitLosingProxy(database: string): Promise<{ url: string; loseNextCommit(): void; lost(): boolean }> {
  const target = new URL(database);
  let armed = false;
  let lost = false;
  const loseNextCommit = () => {
    armed = true;
  };
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    let inserted = false;
    let losing = false;
    client.on('data', (chunk) => {
      // The proxied connection is not encrypted, so statements are readable.
      inserted ||= chunk.includes('insert into "jobs"');
      if (inserted && armed && chunk.includes('commit\0')) {
        armed = false;
        losing = true;
      }
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (!losing) return void client.write(chunk);
      if (!chunk.includes('COMMIT\0')) return;
      lost = true;
      client.destroy();
    });
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => {});
      one.on('close', () => other.destroy());
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const url = new URL(database);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return { url: url.href, loseNextCommit, lost: () => lost };
}

test('a job whose COMMIT was carried out and not acknowledged keeps its image, and its idempotency key leads to it', async () => {
  const { database } = await newInstallation();
  const proxy = await commitLosingProxy(database);
  const dataDir = temporaryFolder();
  const server = await startServer({
    dataDir,
    database: proxy.url,
    workers: 1,
    bundle: 'inflate',
    device: 'cpu',
    resolution: 32,
    textureSize: 256,
  });
  const body = {
    type: 'image-to-3d',
    input: { image_urls: [asDataUri(ballPhoto())] },
    idempotency_key: 'order-1',
  };
  proxy.loseNextCommit();
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
