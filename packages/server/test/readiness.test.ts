import { rmSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import type { Db } from '../src/data/db/database.js';
import { currentTime } from '../src/data/db/time.js';
import { openDataDir } from '../src/data/installation/data-dir.js';
import { announce } from '../src/data/runners/registry.js';
import { startServer, type TestServer, until } from './kit.js';
import { openDatabase } from './open-database.js';

function databaseOf({ config }: TestServer): Db {
  const db = openDatabase(openDataDir(config).database);
  onTestFinished(() => db.destroy());
  return db;
}

const runner = {
  id: 'elsewhere',
  host: 'gpu-1',
  pid: 1,
  version: '0.1.0',
  instance: 'g6e',
  bundle: 'inflate',
  device: 'cpu',
  adapter: null,
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

  rmSync(openDataDir(server.config).assets, { recursive: true });
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

test('/readyz ignores runners with an old heartbeat', async () => {
  const server = await startServer();
  const db = databaseOf(server);
  await announce(db, runner, 0, currentTime(db));
  expect((await server.call('GET', '/readyz', undefined, null)).status).toBe(503);
});
