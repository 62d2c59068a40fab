// The connection to PostgreSQL breaks after a statement was executed and before its response arrives.

import { existsSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { CreateJobResponse, Task } from '@gen3d/schema';
import { expect, test } from 'vitest';
import { asDataUri, ballPhoto } from '../ball-photo.js';
import {
  createJob,
  databaseOf,
  finishedJob,
  imageJob,
  listening,
  newInstallation,
  startServer,
  temporaryFolder,
  until,
} from '../kit.js';

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
  const task = await finishedJob(server.call, id);
  expect(task.status).toBe('SUCCEEDED');
  const db = databaseOf(database);
  const jobs = await db.selectFrom('jobs').select(['id', 'attempt']).execute();
  expect(jobs).toEqual([{ id, attempt: 1 }]);
  expect(existsSync(join(dataDir, 'inputs', `${id}.front`))).toBe(true);
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
  const body = imageJob(ballPhoto());
  const id = await createJob(server.call, body);
  await until(async () => proxy.lost());
  await until(
    async () => Task.parse((await server.call('GET', `/v1/jobs/${id}`)).body).status === 'SUCCEEDED',
    100_000,
  );
  const db = databaseOf(database);
  expect(await db.selectFrom('jobs').select(['attempt', 'taken_over']).execute()).toEqual([
    { attempt: 1, taken_over: 0 },
  ]);
});

interface Loss {
  /** Part of the statement. */
  statement: string;
  /** Part of an earlier statement on the same connection. */
  after?: string;
  /** The tag with which PostgreSQL confirms the statement. */
  tag: string;
}

/**
 * A proxy in front of PostgreSQL for the duration of the test. `url` goes through it. After `loseNext`, it closes the
 * connection once, after the statement was executed and before its response arrives.
 */
async function losingProxy(
  database: string,
  { statement, after = '', tag }: Loss,
): Promise<{ url: string; loseNext(): void; lost(): boolean }> {
  const target = new URL(database);
  let armed = false;
  let lost = false;
  const loseNext = () => {
    armed = true;
  };
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    let prepared = false;
    let asked = false;
    client.on('data', (chunk) => {
      // The connection is not encrypted, so the proxy can read statements.
      prepared ||= chunk.includes(after);
      asked = prepared && chunk.includes(statement);
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (!(armed && asked && chunk.includes(`${tag}\0`))) return void client.write(chunk);
      armed = false;
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
  });
  const url = new URL(database);
  url.hostname = '127.0.0.1';
  url.port = String(await listening(server));
  return { url: url.href, loseNext, lost: () => lost };
}
