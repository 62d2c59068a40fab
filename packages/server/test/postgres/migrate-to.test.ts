// A SQLite installation is copied to PostgreSQL. Slow because each test creates installations with a server.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ListJobsResponse } from '@gen3d/schema';
import { sql } from 'kysely';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { newUlid } from '../../src/base/ids.js';
import { KeyRing, keysInFile, textOf } from '../../src/base/server-key.js';
import { copiedTableNames, copiedTables, openSource } from '../../src/cluster/moving/source.js';
import { sharedKeys } from '../../src/cluster/postgres/shared-keys.js';
import { withSharedTables } from '../../src/cluster/postgres/shared-tables.js';
import { loadConfig } from '../../src/config.js';
import { DashboardTokens } from '../../src/data/accounts/dashboard-tokens.js';
import { charge } from '../../src/data/accounts/ledger.js';
import type { Db } from '../../src/data/db/database.js';
import { migrate } from '../../src/data/db/open.js';
import { Endpoints, SecretBox } from '../../src/data/webhooks/endpoints.js';
import { migrateTo, openAdmin } from '../../src/index.js';
import { photoJob } from '../contract/kit.js';
import { adminOf, createJob, newAccount, newPostgresDatabase, temporaryFolder, until } from '../kit.js';
import { openDatabase } from '../open-database.js';
import { databaseAt, serveFrom } from './sqlite-installation.js';

const sqliteOf = (dataDir: string) => join(dataDir, 'gen3d.sqlite');

/** An installation of a stopped server, with two accounts, a key, an endpoint, and `jobs` jobs with one event each. */
async function installation({ jobs = 0 } = {}) {
  const dataDir = temporaryFolder();
  const server = await serveFrom({ dataDir, database: 'sqlite' });
  const endpoint = await server.call('PUT', '/v1/webhook-endpoint', { url: 'https://example.com/hook' });
  const { secret } = endpoint.body as { secret: string };
  const accountId = server.bootstrap?.accountId ?? '';
  await server.close();
  if (jobs > 0) await addJobs(dataDir, accountId, jobs);
  return { dataDir, apiKey: server.apiKey, accountId, secret };
}

async function addJobs(dataDir: string, account: string, count: number): Promise<void> {
  const db = openDatabase(sqliteOf(dataDir));
  await db.transaction().execute(async (trx) => {
    for (let i = 0; i < count; i++) {
      const [id, event_id, created_at] = [newUlid(), newUlid(), Date.now()];
      const charged = i % 2 === 0;
      const state = charged ? { status: 'SUCCEEDED', progress: 100 } : { status: 'PENDING', progress: 0 };
      const job = {
        ...{ id, account_id: account, type: 'image-to-3d', created_at, attempt: 1, prepared: 0, ...state },
        idempotency_key: i % 3 === 0 ? `order "${i}" \u0000 \u{1f6f4}` : null,
        image_urls: JSON.stringify({ front: 'https://example.com/photo.jpg' }),
        model_key: charged ? `${id}/abc/model.glb` : null,
        thumbnail_key: charged ? `${id}/abc/thumbnail.jpg` : null,
        finished_at: charged ? created_at : null,
      };
      await trx
        .insertInto('jobs')
        .values(job as never)
        .execute();
      const event = { event_id, account_id: account, event: 'task.updated', job_id: id, created_at, ...state };
      await trx
        .insertInto('events')
        .values(event as never)
        .execute();
      const due_at = Number.MAX_SAFE_INTEGER;
      await trx.insertInto('deliveries').values({ event_id, account_id: account, due_at }).execute();
      const made = { accountId: account, jobId: id, price: 7, instance: 'cpu', inferenceMs: 1_234 };
      if (charged) await charge(trx, made, created_at);
    }
  });
  await db.destroy();
}

const target = (dataDir: string, database: string, settings: Record<string, unknown> = {}) =>
  loadConfig({}, {}, { dataDir, database, ...settings });

const move = (dataDir: string, database: string, settings?: Record<string, unknown>) =>
  migrateTo({ dataDir, target: target(dataDir, database, settings) });

/** Every row of every table of an installation. PostgreSQL stores U+2400 instead of U+0000. */
async function contentOf(location: string): Promise<Record<string, unknown[]>> {
  const db = openDatabase(location);
  const content: Record<string, unknown[]> = {};
  for (const table of copiedTableNames) {
    const { rows } = await sql<Record<string, unknown>>`
      select * from ${sql.table(table)} order by ${sql.ref(copiedTables[table])}`.execute(db);
    content[table] = rows.map((row) => JSON.parse(JSON.stringify(row).replaceAll('\\u0000', '\u2400')));
  }
  await db.destroy();
  return content;
}

const emptyDatabase = () => newPostgresDatabase(onTestFinished, 'template0');

test('a server on PostgreSQL continues where the server on SQLite stopped', async () => {
  const { dataDir, apiKey, accountId, secret } = await installation({ jobs: 30 });
  const assetsUrl = 'https://models.example.com';
  const before = await serveFrom({ dataDir, database: 'sqlite', assetsUrl }, apiKey);
  const order = photoJob({ idempotency_key: 'order-1' });
  const job_id = await createJob(before.call, order);
  const firstPage = ListJobsResponse.parse((await before.call('GET', '/v1/jobs?limit=10')).body);
  const seen = async (server: typeof before) => [
    (await server.call('GET', '/v1/balance')).body,
    (await server.call('GET', `/v1/jobs/${job_id}`)).body,
    (await server.call('GET', '/v1/jobs?limit=100')).body,
    (await server.call('GET', `/v1/jobs?limit=10&cursor=${firstPage.next_cursor}`)).body,
  ];
  const old = await seen(before);
  const sqlite = databaseAt(sqliteOf(dataDir));
  const session = await new DashboardTokens(sqlite, new KeyRing(keysInFile(join(dataDir, 'server.key')))).issueSession(
    null,
  );
  await sqlite.destroy();
  await before.close();

  const database = await emptyDatabase();
  await move(dataDir, database);
  const after = await serveFrom({ dataDir, database, assetsUrl }, apiKey);
  expect(after.bootstrap).toBeUndefined();
  expect(await seen(after)).toEqual(old);
  // Idempotency keys, secrets and sessions remain valid.
  expect((await after.call('POST', '/v1/jobs', order)).body).toEqual({ job_id });
  const db = databaseAt(database);
  const keyRing = new KeyRing(await sharedKeys(db).read());
  expect(await new Endpoints(db, new SecretBox(keyRing)).find(accountId)).toMatchObject({ secret });
  expect(await new DashboardTokens(db, keyRing).identify(session)).toMatchObject({ role: 'operator' });
});

test('every row is copied unchanged, the source keeps all rows, and the counts of both are reported', async () => {
  const { dataDir } = await installation({ jobs: 2_500 });
  const database = await emptyDatabase();
  const before = await contentOf(sqliteOf(dataDir));
  const { tables } = await move(dataDir, database);
  expect(await contentOf(database)).toEqual(before);
  expect(await contentOf(sqliteOf(dataDir))).toEqual(before);
  expect(before.jobs).toHaveLength(2_500);
  const counts = copiedTableNames.map((table) => ({
    table,
    source: before[table]?.length,
    target: before[table]?.length,
  }));
  expect(tables).toEqual(counts);
});

/** Runs the built code in a separate process, which can be killed. */
function moveInProcess(dataDir: string, database: string) {
  const script = `
    import { loadConfig, migrateTo } from '@gen3d/server';
    const [dataDir, database] = process.argv.slice(1);
    await migrateTo({ dataDir, target: loadConfig({}, {}, { dataDir, database }) });`;
  return spawn(process.execPath, ['--input-type=module', '-e', script, dataDir, database], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

/** Once the table has `rows` rows, makes every insert into it wait until `resume` is called. */
async function pauseInsertsAt(database: string, table: string, rows: number) {
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  await client.query('select pg_advisory_lock(1)');
  await client.query(`
    create or replace function halt() returns trigger language plpgsql as $$
    begin
      if (select count(*) from ${table}) >= ${rows} then perform pg_advisory_xact_lock(1); end if;
      return null;
    end $$`);
  await client.query(
    `create or replace trigger halt before insert on ${table} for each statement execute function halt()`,
  );
  // pg_locks lists the locks of all databases, and other tests run on the same server.
  const waiting = `select 1 from pg_locks join pg_database on pg_database.oid = pg_locks.database
    where datname = current_database() and locktype = 'advisory' and not granted`;
  const isPaused = async () => (await client.query(waiting)).rowCount === 1;
  return {
    paused: () => until(isPaused),
    /** The waiting insert is then executed, although its client is gone. */
    resume: () => client.end(),
  };
}

test('a killed migration leaves the target empty, and another one copies everything', {
  timeout: 180_000,
}, async () => {
  const { dataDir, apiKey } = await installation({ jobs: 2_500 });
  const database = await newPostgresDatabase();
  const halt = await pauseInsertsAt(database, 'jobs', 2_000);
  const mover = moveInProcess(dataDir, database);
  await halt.paused();
  mover.kill('SIGKILL');
  await once(mover, 'exit');
  await halt.resume();
  const db = databaseAt(database);
  // The trigger can be dropped when PostgreSQL has rolled back the transaction.
  await sql`drop trigger halt on jobs`.execute(db);
  await db.destroy();
  expect(Object.values(await contentOf(database)).flat()).toEqual([]);

  await move(dataDir, database);
  expect(await contentOf(database)).toEqual(await contentOf(sqliteOf(dataDir)));
  const server = await serveFrom({ dataDir, database }, apiKey);
  expect((await server.call('GET', '/v1/jobs')).status).toBe(200);
});

test('a source that a server uses is refused, and no server starts on it while it is copied', async () => {
  const { dataDir, apiKey } = await installation();
  const server = await serveFrom({ dataDir, database: 'sqlite' }, apiKey);
  const database = await emptyDatabase();
  const refused = move(dataDir, database);
  await expect(refused).rejects.toThrow(
    /gen3d\.sqlite is open in a server, a worker or another gen3d command.*Stop them/,
  );
  await server.close();
  const source = openSource(sqliteOf(dataDir));
  await expect(serveFrom({ dataDir, database: 'sqlite' })).rejects.toThrow(/is locked by a command such as/);
  source.close();
  await move(dataDir, database);
});

test('a source that is missing or has another version is refused and not changed', async () => {
  const database = await emptyDatabase();
  const nowhere = join(temporaryFolder(), 'nothing');
  await expect(move(nowhere, database)).rejects.toThrow(/nothing\/gen3d\.sqlite does not exist\. Set --data-dir/);
  const { dataDir } = await installation();
  const change = async (statement: ReturnType<typeof sql>) => {
    const db = databaseAt(sqliteOf(dataDir));
    await statement.execute(db);
    await db.destroy();
  };
  await change(sql`insert into kysely_migration (name, timestamp) values ('9999_later', '2100-01-01')`);
  await expect(move(dataDir, database)).rejects.toThrow(/was written by a newer gen3d/);
  await change(sql`delete from kysely_migration`);
  await expect(move(dataDir, database)).rejects.toThrow(/was written by an older gen3d.*gen3d serve/);
  const db = databaseAt(sqliteOf(dataDir));
  expect((await sql`select name from kysely_migration`.execute(db)).rows).toEqual([]);
});

async function withDatabase(work: (db: Db) => Promise<unknown>): Promise<string> {
  const database = await emptyDatabase();
  const db = databaseAt(database);
  await work(db);
  await db.destroy();
  return database;
}

test('a target with other tables or data is refused and not changed', async () => {
  const { dataDir } = await installation();
  const foreign = await withDatabase((db) => sql`create table bookings (id int)`.execute(db));
  await expect(move(dataDir, foreign)).rejects.toThrow(/contains tables of another program \(bookings\)/);
  const db = databaseAt(foreign);
  expect((await sql`select 1 from pg_class where relname = 'jobs'`.execute(db)).rows).toEqual([]);

  const used = await withDatabase(async (db) => {
    await migrate(db);
    await newAccount(db, 'somebody');
  });
  await expect(move(dataDir, used)).rejects.toThrow(/is already in use by gen3d \(it has rows in accounts, ledger\)/);
  expect((await contentOf(used)).accounts).toMatchObject([{ name: 'somebody' }]);

  const newer = await withDatabase(async (db) => {
    await migrate(db);
    await sql`insert into kysely_migration (name, timestamp) values ('9999_later', '')`.execute(db);
  });
  await expect(move(dataDir, newer)).rejects.toThrow(/was written by a newer gen3d. Update gen3d/);
});

test('a target is filled once, from one installation', async () => {
  const { dataDir } = await installation();
  const database = await emptyDatabase();
  // The target was opened before, as operators do to test the connection.
  await (await openAdmin(loadConfig({}, {}, { dataDir: temporaryFolder(), database }))).close();
  await move(dataDir, database);
  const admin = await adminOf({ config: loadConfig({}, {}, { dataDir, database }) });
  const account = await admin.createAccount('made on PostgreSQL');
  await expect(move(dataDir, database)).rejects.toThrow(
    /already contains a complete copy of this installation\. Start servers on it/,
  );
  const other = await installation();
  await expect(move(other.dataDir, database)).rejects.toThrow(/is already in use by gen3d/);
  expect(await admin.listAccounts()).toContainEqual(account);
});

test('with GEN3D_SERVER_KEY, the database does not store the key, and the key must be that of the source', async () => {
  const { dataDir, apiKey } = await installation();
  const database = await emptyDatabase();
  const serverKey = textOf(keysInFile(join(dataDir, 'server.key')));
  await expect(move(dataDir, database, { serverKey: 'ab'.repeat(32) })).rejects.toThrow(
    /GEN3D_SERVER_KEY is not the key in /,
  );
  await move(dataDir, database, { serverKey });
  const db = databaseAt(database);
  expect(await withSharedTables(db).selectFrom('server_key').select('key').execute()).toEqual([{ key: null }]);
  await expect(serveFrom({ dataDir, database })).rejects.toThrow(/was set up with GEN3D_SERVER_KEY/);
  const server = await serveFrom({ dataDir, database, serverKey }, apiKey);
  expect((await server.call('GET', '/v1/balance')).status).toBe(200);
});
