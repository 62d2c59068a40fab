import { sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { emptyDatabase, newAccount, newJob } from '../../../test/kit.js';
import { openDatabase } from '../../../test/open-database.js';
import { migrate } from './open.js';

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

test('the photos of models that were kept before they had a column of their own stay kept', async () => {
  const db = openDatabase(await emptyDatabase());
  onTestFinished(() => db.destroy());
  await migrate(db);
  const account = await newAccount(db);
  const ended = (fields: object) => newJob(db, account, { finished_at: 1, ...fields });
  const kept = await ended({ status: 'SUCCEEDED', prepared: 1 });
  await ended({ status: 'SUCCEEDED', prepared: 0 });
  await ended({ status: 'FAILED', prepared: 1 });
  await sql`alter table jobs drop column photo_kept`.execute(db);
  await sql`alter table accounts drop column open_at_most`.execute(db);
  await sql`delete from kysely_migration where name >= '0003_kept_photos'`.execute(db);
  await migrate(db);
  expect(await db.selectFrom('jobs').select('id').where('photo_kept', '=', 1).execute()).toEqual([{ id: kept }]);
});

test('unfinished jobs of an older version count toward the limit of their account', async () => {
  const db = openDatabase(await emptyDatabase());
  onTestFinished(() => db.destroy());
  await migrate(db);
  const [account, other] = [await newAccount(db), await newAccount(db)];
  for (const finished_at of [null, null, 1]) await newJob(db, account, { finished_at });
  await sql`alter table accounts drop column open_at_most`.execute(db);
  await sql`delete from kysely_migration where name >= '0005_bound_on_open_jobs'`.execute(db);
  await migrate(db);
  const accounts = await db.selectFrom('accounts').select(['id', 'open_at_most']).orderBy('open_at_most').execute();
  expect(accounts).toEqual([
    { id: other, open_at_most: 0 },
    { id: account, open_at_most: 2 },
  ]);
});
