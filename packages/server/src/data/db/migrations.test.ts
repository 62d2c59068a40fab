import { sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { emptyDatabase } from '../../../test/kit.js';
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
