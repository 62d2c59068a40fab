// A SQLite database is backed up while its server runs, and a server starts from the backup.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { CreateJobResponse, ListJobsResponse } from '@gen3d/schema';
import { sql } from 'kysely';
import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { backup } from '../src/data/installation/backup.js';
import { photoJob } from './contract/kit.js';
import { databaseOf, startServer, type TestServer, temporaryFolder } from './kit.js';
import { openDatabase } from './open-database.js';

const create = async (server: TestServer) =>
  CreateJobResponse.parse((await server.call('POST', '/v1/jobs', photoJob())).body).job_id;

test('a server started from a backup has all jobs accepted before it, and accepts the same keys', async () => {
  const server = await startServer();
  const { dataDir, database } = server.config;
  const endpoint = await server.call('PUT', '/v1/webhook-endpoint', { url: 'https://example.com/hook' });
  const promised: string[] = [];
  for (let i = 0; i < 20; i++) promised.push(await create(server));
  // Jobs are created during the backup.
  const file = join(temporaryFolder(), 'gen3d.backup');
  const [written] = await Promise.all([backup({ dataDir, database }, file), ...promised.map(() => create(server))]);
  expect(written).toEqual({ file, bytes: statSync(file).size });
  expect((statSync(file).mode & 0o777).toString(8)).toBe('600');

  const restored = temporaryFolder();
  copyFileSync(file, join(restored, 'gen3d.sqlite'));
  copyFileSync(join(dataDir, 'server.key'), join(restored, 'server.key'));
  const second = await startServer({ dataDir: restored });
  expect(second.bootstrap).toBeUndefined();
  const call = (path: string) => second.call('GET', path, undefined, server.apiKey);
  const { jobs } = ListJobsResponse.parse((await call('/v1/jobs?limit=100')).body);
  expect(jobs.map(({ task_id }) => task_id)).toEqual(expect.arrayContaining(promised));
  expect((await call('/v1/balance')).body).toEqual((await server.call('GET', '/v1/balance')).body);
  expect((await call('/v1/webhook-endpoint')).body).toEqual(endpoint.body);
});

test('a backup overwrites no file, and a failed one leaves no file', async () => {
  const { config } = await startServer();
  const folder = temporaryFolder();
  const file = join(folder, 'precious');
  writeFileSync(file, 'precious');
  await expect(backup(config, file)).rejects.toThrow(/precious already exists, and a backup does not replace files/);
  expect(readFileSync(file, 'utf8')).toBe('precious');
  mkdirSync(join(folder, 'folder'));
  await expect(backup(config, join(folder, 'folder'))).rejects.toThrow(/already exists/);
  await expect(backup(config, join(folder, 'nowhere', 'file'))).rejects.toThrow(
    `The folder ${join(folder, 'nowhere')} does not exist. Create it first, or choose another path`,
  );
  expect(readdirSync(folder).sort()).toEqual(['folder', 'precious']);
});

test('a damaged database gives no backup', async () => {
  const dataDir = temporaryFolder();
  writeFileSync(
    join(dataDir, 'gen3d.sqlite'),
    'no database at all, but long enough to have had a header of one'.repeat(9),
  );
  const folder = temporaryFolder();
  await expect(backup({ dataDir, database: 'sqlite' }, join(folder, 'file'))).rejects.toThrow(/is damaged/);
  expect(readdirSync(folder)).toEqual([]);
});

test('without a SQLite database, the message says what to do instead', async () => {
  const file = join(temporaryFolder(), 'file');
  const dataDir = join(temporaryFolder(), 'new');
  await expect(backup({ dataDir, database: 'sqlite' }, file)).rejects.toThrow(/Set --data-dir/);
  await expect(backup({ dataDir, database: 'postgres://127.0.0.1:1/x' }, file)).rejects.toThrow(
    /For PostgreSQL use pg_dump/,
  );
  expect(existsSync(dataDir)).toBe(false);
});

test('a backup before an upgrade keeps the old schema, in the database and in the backup', async () => {
  const dataDir = temporaryFolder();
  const db = databaseOf(join(dataDir, 'gen3d.sqlite'));
  await sql`create table made_by_an_older_version (id integer primary key autoincrement, text text)`.execute(db);
  await sql`insert into made_by_an_older_version (text) values ('a'), ('b')`.execute(db);
  await sql`delete from made_by_an_older_version`.execute(db);
  const file = join(temporaryFolder(), 'file');
  await backup({ dataDir, database: 'sqlite' }, file);
  const copy = databaseOf(file);
  const tables = sql<{ name: string }>`select name from sqlite_master where name not like 'sqlite_%'`;
  expect((await tables.execute(copy)).rows).toEqual([{ name: 'made_by_an_older_version' }]);
  expect((await tables.execute(db)).rows).toEqual([{ name: 'made_by_an_older_version' }]);
  // Ids of deleted rows are not used again.
  const inserted = await sql`insert into made_by_an_older_version (text) values ('c') returning id`.execute(copy);
  expect(inserted.rows).toEqual([{ id: 3 }]);
});

/** The file of a stopped server's database in which the page of a table is damaged. The schema is intact. */
async function damagedDatabase(dataDir: string, table: string): Promise<string> {
  const server = await startServer({ dataDir, database: 'sqlite' });
  await server.close({ graceMs: 0 });
  const file = join(dataDir, 'gen3d.sqlite');
  const db = openDatabase(file);
  const { rows } = await sql<{ rootpage: number; page_size: number }>`
    select rootpage, page_size from sqlite_master, pragma_page_size where name = ${table}`.execute(db);
  await db.destroy();
  const { rootpage, page_size } = rows[0]!;
  writeFileSync(file, readFileSync(file).fill(0xff, (rootpage - 1) * page_size, rootpage * page_size));
  return file;
}

test('a server does not start with a damaged page in its database, and says what to do', async () => {
  const dataDir = temporaryFolder();
  await damagedDatabase(dataDir, 'ledger');
  await expect(startServer({ dataDir, database: 'sqlite' })).rejects.toThrow(
    /gen3d\.sqlite is damaged.*Restore a backup/,
  );
});

test('damage in a database that is in use is named in the log, once, with what to do', async () => {
  const file = await damagedDatabase(temporaryFolder(), 'ledger');
  const logged: { reason: string; msg: string }[] = [];
  const log = pino({ base: null }, { write: (line) => void logged.push(JSON.parse(line)) });
  const db = openDatabase(file, { log });
  onTestFinished(() => db.destroy());
  for (let i = 0; i < 2; i++) {
    await expect(db.selectFrom('ledger').selectAll().execute()).rejects.toThrow('malformed');
  }
  expect(logged).toMatchObject([
    { msg: 'the database is damaged', reason: expect.stringMatching(/gen3d\.sqlite is damaged.*Restore a backup/) },
  ]);
});

test('a database that cannot be opened for writing is an error that says so', async () => {
  const dataDir = temporaryFolder();
  // Permissions do not stop root, under which the tests may run.
  symlinkSync(join(dataDir, 'missing', 'gen3d.sqlite'), join(dataDir, 'gen3d.sqlite'));
  await expect(startServer({ dataDir, database: 'sqlite' })).rejects.toThrow(
    /^\S+gen3d\.sqlite cannot be opened for writing\. Check that this user owns/,
  );
});

test('a server that cannot write its data directory says so', async () => {
  const dataDir = temporaryFolder();
  mkdirSync(join(dataDir, 'serving.lock'));
  await expect(startServer({ dataDir, database: 'sqlite' })).rejects.toThrow(
    /serving\.lock cannot be opened for writing/,
  );
});
