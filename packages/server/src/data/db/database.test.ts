// Tests the promises of `DatabaseKind` on every kind: the Vitest project `postgres` runs this file, too.
import { join } from 'node:path';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import {
  databaseOf,
  newAccount,
  newPostgresDatabase,
  onPostgres,
  temporaryDatabase,
  temporaryFolder,
  until,
} from '../../../test/kit.js';
import { type Db, kindOf } from './database.js';
import { migrate } from './open.js';
import { after, currentTime, readTime } from './time.js';
import { forUpdate, transaction } from './transaction.js';

/** A database at a location that other connections can open, too. */
async function sharedDatabase(): Promise<{ location: string; open: () => Db }> {
  const location = onPostgres ? await newPostgresDatabase() : join(temporaryFolder(), 'gen3d.sqlite');
  const open = () => {
    const db = databaseOf(location);
    return db;
  };
  if (!onPostgres) await migrate(open());
  return { location, open };
}

test('a transaction that fails stores nothing', async () => {
  const db = await temporaryDatabase();
  const failing = transaction(db, async (trx) => {
    await trx
      .insertInto('accounts')
      .values({ id: 'A', name: 'A', sandbox: 0, balance_microusd: 0, created_at: 0 })
      .execute();
    throw new Error('the work failed');
  });
  await expect(failing).rejects.toThrow('the work failed');
  expect(await db.selectFrom('accounts').selectAll().execute()).toEqual([]);
});

test('concurrent transactions of two processes that lock a row see what the previous one committed', async () => {
  const { open } = await sharedDatabase();
  const [one, other] = [open(), open()] as const;
  const id = await newAccount(one);
  const increment = (db: Db) =>
    transaction(db, async (trx) => {
      const { turn } = await trx
        .selectFrom('accounts')
        .select('turn')
        .where('id', '=', id)
        .$call(forUpdate(trx))
        .executeTakeFirstOrThrow();
      await trx
        .updateTable('accounts')
        .set({ turn: turn + 1 })
        .execute();
    });
  await Promise.all(Array.from({ length: 10 }, () => [increment(one), increment(other)]).flat());
  expect(await one.selectFrom('accounts').select('turn').execute()).toEqual([{ turn: 20 }]);
});

test('the clock gives one time in milliseconds, as a number and in statements', async () => {
  const db = await temporaryDatabase();
  const before = await readTime(db);
  const { rows } = await sql<{ later: number }>`select ${after(currentTime(db), 60_000)} as later`.execute(db);
  expect(Number(rows[0]?.later) - before).toBeGreaterThanOrEqual(60_000);
  expect(Number(rows[0]?.later) - before).toBeLessThan(120_000);
  expect(Math.abs(before - Date.now())).toBeLessThan(60_000);
});

test('text is ordered by its bytes', async () => {
  const db = await temporaryDatabase();
  for (const id of ['a', 'B', 'ä', '_']) {
    await db.insertInto('accounts').values({ id, name: id, sandbox: 0, balance_microusd: 0, created_at: 0 }).execute();
  }
  const rows = await db.selectFrom('accounts').select('id').orderBy('id').execute();
  expect(rows.map(({ id }) => id)).toEqual(['B', '_', 'a', 'ä']);
});

test('processes of a shared database notify each other', async () => {
  const { location, open } = await sharedDatabase();
  const [one, other] = [open(), open()] as const;
  const { isShared, wakeup } = kindOf(one);
  let heard = 0;
  const stop = wakeup(one, location).listen({ job_waiting: () => heard++ });
  const { notify } = wakeup(other, location);
  if (isShared) {
    await until(async () => {
      notify('job_waiting');
      return heard > 1;
    });
  } else notify('job_waiting');
  await stop();
});
