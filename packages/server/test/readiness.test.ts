import { execFileSync } from 'node:child_process';
import { closeSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { newUlid } from '../src/base/ids.js';
import { currentTime } from '../src/data/db/time.js';
import { dataDirOf } from '../src/data/installation/data-dir.js';
import { announce } from '../src/data/runners/registry.js';
import { databaseOf, newAccount, newJob, startServer, until } from './kit.js';

const runner = {
  id: 'elsewhere',
  host: 'gpu-1',
  pid: 1,
  version: '0.1.0',
  instance: 'g6e',
  bundle: 'inflate',
  device: 'cpu',
  adapter: null,
  paused_since: null,
};
const ok = { server: 'ok', database: 'ok', assets: 'ok', runners: 'ok' };

test('/readyz is 503 with the failed checks without an active runner, and when the assets folder is missing', async () => {
  const server = await startServer();
  const db = databaseOf(server);
  const readyz = () => server.call('GET', '/readyz', undefined, null);
  expect(await readyz()).toMatchObject({
    status: 503,
    body: { status: 'not ready', checks: { ...ok, runners: 'no active runner on any machine' } },
  });
  // The process itself works, so there is no reason to restart it.
  expect((await server.call('GET', '/healthz', undefined, null)).status).toBe(200);
  await announce(db, runner, 3_600_000, currentTime(db));
  const ready = await until(async () => {
    const response = await readyz();
    return response.status === 200 && response;
  });
  expect(ready.body).toEqual({ status: 'ready', checks: ok });
  expect(ready.headers.get('cache-control')).toBe('no-store');

  rmSync(dataDirOf(server.config).assets, { recursive: true });
  const without = await until(async () => {
    const response = await readyz();
    return response.status === 503 && response;
  });
  expect(without.body).toEqual({
    status: 'not ready',
    checks: { ...ok, assets: 'not reachable or not writable' },
  });
  expect(JSON.stringify(without.body)).not.toContain(server.config.dataDir);
});

test('/readyz is 503 after another version has changed the tables of a running server', async () => {
  const server = await startServer();
  await sql`alter table accounts add column color text`.execute(databaseOf(server));
  expect(await server.call('GET', '/readyz', undefined, null)).toMatchObject({
    status: 503,
    body: { checks: { database: 'its tables are of another version' } },
  });
});

test('/readyz is 503 while an outage pauses all runners, and 200 while it pauses some of them', async () => {
  const server = await startServer();
  const db = databaseOf(server);
  await announce(db, { ...runner, paused_since: 1 }, 3_600_000, currentTime(db));
  expect(await server.call('GET', '/readyz', undefined, null)).toMatchObject({
    status: 503,
    body: { checks: { ...ok, runners: expect.stringContaining('paused by an outage') } },
  });
  await announce(db, { ...runner, id: 'another' }, 3_600_000, currentTime(db));
  await until(async () => (await server.call('GET', '/readyz', undefined, null)).status === 200);
});

test.skipIf(process.platform === 'win32')(
  '/readyz is 503 while a file system does not respond, and then 200',
  { tags: 'slow' },
  async () => {
    const server = await startServer({ workers: 1 }, { fileTimeoutMs: 500 });
    const db = databaseOf(server);
    const id = newUlid();
    // Reading a pipe blocks until another process writes.
    const path = join(dataDirOf(server.config).inputs, `${id}.front`);
    execFileSync('mkfifo', [path]);
    await newJob(db, await newAccount(db), { id, prepared: 0, image_urls: null, created_at: Date.now() });
    const readyz = (status: number) =>
      until(async () => {
        const response = await server.call('GET', '/readyz', undefined, null);
        return response.status === status && response.body;
      });
    expect(await readyz(503)).toEqual({
      status: 'not ready',
      checks: { ...ok, assets: 'a file system does not respond' },
    });
    // The API still responds, and says that this process works.
    expect((await server.call('GET', '/healthz', undefined, null)).status).toBe(200);
    expect((await server.call('GET', '/v1/jobs')).status).toBe(200);
    closeSync(openSync(path, 'r+'));
    expect(await readyz(200)).toEqual({ status: 'ready', checks: ok });
  },
);
