import { join } from 'node:path';
import { Migrator, sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { newPostgresDatabase, onPostgres, temporaryFolder } from '../../../test/kit.js';
import { isPostgres } from './dialect.js';
import { migrations } from './migrations.js';
import { migrate, openDatabase } from './open.js';
import { PostgresTypes } from './postgres-types.js';

/** A database migrated up to the named migration. */
async function databaseAsOf(last: string) {
  const location = onPostgres
    ? await newPostgresDatabase(onTestFinished, 'template0')
    : join(temporaryFolder(), 'old.sqlite');
  const db = openDatabase(location);
  onTestFinished(() => db.destroy());
  const migrator = new Migrator({
    db: isPostgres(db) ? db.withPlugin(new PostgresTypes()) : db,
    provider: { getMigrations: async () => migrations },
  });
  expect((await migrator.migrateTo(last)).error).toBeUndefined();
  return db;
}

test('jobs from before the migration to turns get turns per account, in creation order', async () => {
  const db = await databaseAsOf('0011_asset_location');
  for (const id of ['A', 'B']) {
    await sql`insert into accounts (id, name, created_at) values (${id}, ${id}, 0)`.execute(db);
  }
  const jobs = [
    ['1', 'A', 5],
    ['2', 'A', null],
    ['3', 'A', null],
    ['4', 'B', null],
    ['5', 'A', null],
    ['6', 'B', 7],
    ['7', 'B', null],
  ] as const;
  for (const [id, account, finishedAt] of jobs) {
    await sql`
      insert into jobs (id, account_id, type, status, progress, created_at, finished_at)
      values (${id}, ${account}, 'image-to-3d', 'PENDING', 0, 0, ${finishedAt})`.execute(db);
  }
  await migrate(db);
  const turns = await db.selectFrom('jobs').select(['id', 'turn']).orderBy('id').execute();
  expect(turns.map(({ id, turn }) => [id, turn])).toEqual([
    ['1', 0],
    ['2', 1],
    ['3', 2],
    ['4', 1],
    ['5', 3],
    ['6', 0],
    ['7', 2],
  ]);
});
