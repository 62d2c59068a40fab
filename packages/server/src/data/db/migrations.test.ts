import { createHash } from 'node:crypto';
import { Migrator, sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { emptyDatabase, temporaryDatabase } from '../../../test/kit.js';
import { openDatabase } from '../../../test/open-database.js';
import { kindOf } from './database.js';
import { migrations } from './migrations.js';
import { migrate } from './open.js';
import { readSchemaState } from './schema.js';

test('several processes migrate a new database at the same time, and later migrations change nothing', async () => {
  const location = await emptyDatabase();
  const open = () => {
    const db = openDatabase(location);
    onTestFinished(() => db.destroy());
    return db;
  };
  const processes = [open(), open(), open()];
  await Promise.all(processes.map((db) => migrate(db)));
  const [db] = processes as [ReturnType<typeof open>];
  await db
    .insertInto('accounts')
    .values({ id: 'A', name: 'A', sandbox: 0, balance_microusd: 0, created_at: 0 })
    .execute();
  await migrate(db);
  expect(await db.selectFrom('accounts').select('name').execute()).toEqual([{ name: 'A' }]);
});

test('a database that another process is migrating is not taken for one of another build', async () => {
  const location = await emptyDatabase();
  const db = openDatabase(location);
  const other = openDatabase(location);
  onTestFinished(async () => void (await Promise.all([db.destroy(), other.destroy()])));
  // Kysely makes its own tables before it begins the first migration.
  await new Migrator({ db, provider: { getMigrations: async () => ({}) } }).migrateToLatest();
  let isFirst = true;
  const reading = db.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      if (isFirst) {
        isFirst = false;
        await migrate(other);
      }
      return result;
    },
  });
  expect(await readSchemaState(reading)).toEqual({ relation: 'current' });
});

test('a failed migration leaves nothing behind, and the next start runs it again', async () => {
  const db = openDatabase(await emptyDatabase());
  onTestFinished(() => db.destroy());
  // A table of that name makes the initial migration fail after it has created others.
  await sql`create table kysely_migration_lock (id varchar(255) primary key, is_locked integer not null default 0)`.execute(
    db,
  );
  await sql`create table kysely_migration (name varchar(255) primary key, timestamp varchar(255) not null)`.execute(db);
  await sql`create table webhook_endpoints (id integer)`.execute(db);
  await expect(migrate(db)).rejects.toThrow(/Cannot migrate the database/);
  await sql`drop table webhook_endpoints`.execute(db);
  await migrate(db);
  expect(await db.selectFrom('webhook_endpoints').selectAll().execute()).toEqual([]);
});

test('the first migration is the one that databases of the first release were made by', () => {
  const hash = createHash('sha256').update(JSON.stringify(migrations['0001_first_release'])).digest('hex');
  // Until the first release, renew it: npx vitest run --project gen3d packages/server/src/data/db/migrations.test.ts -u
  // After it, this test must not change: what it protects is on the disks of users.
  expect(hash).toMatchInlineSnapshot(`"3ae9476636c548a3eed78f1b07445df5550cae7eda35bfcc941111ca6844e063"`);
});

test.each([
  ['a column is missing', 'alter table jobs drop column label', /without jobs.label text\), and was not changed/],
  ['a column is too many', 'alter table accounts add column color text', /with accounts.color text\)/],
  ['an index is missing', 'drop index jobs_idempotency', /without index jobs_idempotency\)/],
  [
    'a migration is newer',
    "insert into kysely_migration (name, timestamp) values ('9999_later', '')",
    /was written by a newer gen3d\. Update gen3d, or choose/,
  ],
  ['a migration is unknown', "update kysely_migration set name = '0001_initial'", /with the migration 0001_initial\)/],
])('a database in which %s is refused', async (_what, change, problem) => {
  const db = await temporaryDatabase();
  await migrate(db);
  await sql.raw(change).execute(db);
  await expect(migrate(db)).rejects.toThrow(problem);
});

test('a database with tables of another program is refused, and nothing in it changes', async () => {
  const db = openDatabase(await emptyDatabase());
  onTestFinished(() => db.destroy());
  await sql`create table customers (id int)`.execute(db);
  await expect(migrate(db)).rejects.toThrow(
    /contains tables of another program \(customers\)\. Use an empty database: choose another/,
  );
  const { rows } = await sql.raw(kindOf(db).schema).execute(db);
  expect(rows).toEqual([{ item: expect.stringMatching(/^customers\.id int/) }]);
});

test('tables and indexes that an operator added do not matter', async () => {
  const db = await temporaryDatabase();
  await sql`create table notes (id integer primary key)`.execute(db);
  await sql`create index jobs_by_label on jobs (label)`.execute(db);
  await migrate(db);
});
