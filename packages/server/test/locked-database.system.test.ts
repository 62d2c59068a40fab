// Another process holds the write lock of the SQLite database for longer than the server waits for it.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { CreateJobResponse, ErrorBody } from '@gen3d/schema';
import { sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { openSqlite, type SqliteConnection } from '../src/data/db/sqlite-connection.js';
import { ballPhoto } from './ball-photo.js';
import { running, spawnServer } from './faults/server-process.js';
import { databaseOf, finishedJob, imageJob, readJob, temporaryDatabase, temporaryFolder, until } from './kit.js';

/** Opens the database as another process does. */
function otherConnection(file: string): SqliteConnection {
  const database = openSqlite(file, { busyTimeoutMs: 5_000 });
  onTestFinished(() => void database.close());
  return database;
}

test('while another process holds the lock, reads succeed, writes get 503, and no job loses its attempt or model', async () => {
  const dataDir = temporaryFolder();
  const server = await running(spawnServer({ dataDir, workers: 1, resolution: 128, bootstrapBalanceUsd: 10 }));
  const other = otherConnection(join(dataDir, 'gen3d.sqlite'));
  const post = () => server.call('POST', '/v1/jobs', imageJob(ballPhoto()));
  const { job_id: id } = CreateJobResponse.parse((await post()).body);
  const read = () => readJob(server.call, id);
  await until(async () => (await read()).status === 'IN_PROGRESS', 50_000);

  other.exec('begin immediate');
  let isWaiting = true;
  let reads = 0;
  const refused = Promise.all([post(), post(), post()]).finally(() => {
    isWaiting = false;
  });
  for (; isWaiting; reads++) {
    expect((await server.call('GET', '/openapi.json', undefined, null)).status).toBe(200);
    await read();
  }
  // If a write that waits for the lock blocked the event loop, only a few reads would get through between the writes.
  expect(reads).toBeGreaterThan(20);
  for (const { status, headers, body: answer } of await refused) {
    expect(status).toBe(503);
    expect(headers.get('retry-after')).toBe('5');
    expect(ErrorBody.parse(answer).error.code).toBe('internal_error');
  }
  const outages = () => server.logged('the database is unavailable');
  await until(async () => outages().length > 0, 30_000);
  expect(outages()).toHaveLength(1);
  other.exec('rollback');

  expect((await finishedJob(server.call, id)).status).toBe('SUCCEEDED');
  expect(other.prepare('select attempt from jobs where id = ?').pluck().get(id)).toBe(1);
  expect(readdirSync(join(dataDir, 'assets', id))).toHaveLength(1);
});

test('a transaction waits for another process, and reads do not wait', async () => {
  const file = join(temporaryFolder(), 'test.sqlite');
  const db = databaseOf(file);
  const other = otherConnection(file);
  other.exec('create table rates (instance text primary key, usd_per_second real)');
  other.exec('begin immediate');
  const insert = (instance: string) =>
    db.transaction().execute((trx) => trx.insertInto('rates').values({ instance, usd_per_second: 1 }).execute());
  const written = Promise.all(['a', 'b', 'c'].map(insert));
  const rows = () => db.selectFrom('rates').select('instance').orderBy('instance').execute();
  expect(await rows()).toEqual([]);
  other.exec('commit');
  await written;
  expect((await rows()).map(({ instance }) => instance)).toEqual(['a', 'b', 'c']);
});

test('a read during a transaction of the same process sees only committed rows', async () => {
  const db = await temporaryDatabase();
  let seen: Promise<unknown[]> | undefined;
  const rows = () => db.selectFrom('rates').select('instance').execute();
  await expect(
    db.transaction().execute(async (trx) => {
      await trx.insertInto('rates').values({ instance: 'a', usd_per_second: 1 }).execute();
      seen = rows();
      await new Promise(setImmediate);
      throw new Error('changed its mind');
    }),
  ).rejects.toThrow('changed its mind');
  expect(await seen).toEqual([]);
});

test('the write-ahead log shrinks after a large transaction, and a sync reaches the disk itself on macOS', async () => {
  const file = join(temporaryFolder(), 'test.sqlite');
  const db = databaseOf(file);
  const other = otherConnection(file);
  other.exec('create table rates (instance text primary key, usd_per_second real)');
  const insert = (instance: string) => db.insertInto('rates').values({ instance, usd_per_second: 1 }).execute();
  const mebibyte = 1024 ** 2;
  await insert('x'.repeat(48 * mebibyte));
  expect(statSync(`${file}-wal`).size).toBeGreaterThan(48 * mebibyte);
  for (const instance of ['a', 'b']) await insert(instance);
  expect(statSync(`${file}-wal`).size).toBeLessThanOrEqual(16 * mebibyte);
  expect((await sql`pragma fullfsync`.execute(db)).rows).toEqual([{ fullfsync: 1 }]);
});
