import { join } from 'node:path';
import { Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler, sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../../test/kit.js';
import { LogSync } from './log-sync.js';
import { openSqlite } from './sqlite-connection.js';
import { SqliteWalDriver } from './sqlite-driver.js';
import { mayBeCommitted } from './unavailable.js';

test('a write whose sync fails is rejected as one that may be committed, and the next transaction is not rolled back', async () => {
  const path = join(temporaryFolder(), 'test.sqlite');
  const connection = openSqlite(path, { busyTimeoutMs: 0 });
  connection.exec('pragma journal_mode = WAL');
  const log = new LogSync(join(temporaryFolder(), 'missing'));
  const db = new Kysely<Record<string, never>>({
    dialect: {
      createDriver: () => new SqliteWalDriver(connection, log),
      createAdapter: () => new SqliteAdapter(),
      createQueryCompiler: () => new SqliteQueryCompiler(),
      createIntrospector: (any) => new SqliteIntrospector(any),
    },
  });
  onTestFinished(() => db.destroy());
  connection.exec('create table numbers (value integer)');
  const insert = (value: number) =>
    db.transaction().execute((trx) => sql`insert into numbers (value) values (${value})`.execute(trx));
  const outcomes = await Promise.allSettled([
    insert(1),
    insert(2),
    sql`insert into numbers (value) values (3)`.execute(db),
  ]);
  const reasons = outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason);
  expect(reasons.map(mayBeCommitted)).toEqual([true, true, true]);
  expect(connection.prepare('select value from numbers order by value').pluck().all()).toEqual([1, 2, 3]);
});
