import { sql } from 'kysely';
import { AdminError } from '../../base/errors.js';
import { fingerprintOf } from '../../base/server-key.js';
import { advisoryLock } from '../db/locks.js';
import type { Db, Queryable } from '../db/open.js';
import { currentTime } from '../db/time.js';
import { transaction } from '../db/transaction.js';
import { copiedTableNames } from './copied-tables.js';

/** How far the copy into a database was when it was claimed. */
export type Progress = 'empty' | 'half-copied' | 'finished';

const emptyAdvice = 'Give an empty database, such as `createdb` makes';

/**
 * Makes the database the one into which an installation is copied, told by its server key, which from then on is the
 * database's. With `keepKey` the database keeps it, else only its fingerprint, and each server is given it.
 * @throws {AdminError} if it holds anything but a copy, whole or not, of this installation
 */
export async function claimTarget(db: Db, place: string, serverKey: string, keepKey: boolean): Promise<Progress> {
  return transaction(db, async (trx) => {
    await advisoryLock(trx, 'import from sqlite');
    const fingerprint = fingerprintOf(serverKey);
    const begun = await trx.selectFrom('import_from_sqlite').selectAll().executeTakeFirst();
    if (begun) {
      const key = await trx.selectFrom('server_key').selectAll().executeTakeFirst();
      if (key?.fingerprint !== fingerprint) {
        throw new AdminError(`${place} holds the copy of another installation. ${emptyAdvice}`);
      }
      if (begun.finished_at !== null) return 'finished';
    } else {
      await requireEmpty(trx, place);
      await trx
        .insertInto('import_from_sqlite')
        .values({ id: 1, started_at: currentTime(db), finished_at: null })
        .execute();
    }
    await trx.deleteFrom('server_key').execute();
    await trx
      .insertInto('server_key')
      .values({ id: 1, key: keepKey ? serverKey : null, fingerprint })
      .execute();
    return begun ? 'half-copied' : 'empty';
  });
}

/** A server's first start makes accounts: without any, whatever key there is has been used for nothing. */
async function requireEmpty(db: Queryable, place: string): Promise<void> {
  const filled: string[] = [];
  for (const table of copiedTableNames) {
    const { rows } = await sql`select 1 from ${sql.table(table)} limit 1`.execute(db);
    if (rows.length > 0) filled.push(table);
  }
  if (filled.length === 0) return;
  throw new AdminError(`${place} is in use by gen3d already (it has rows in ${filled.join(', ')}). ${emptyAdvice}`);
}

/** Lets identity columns go on behind the highest copied value, and the planner know how large the tables are. */
export async function settleTables(db: Db): Promise<void> {
  const { rows } = await sql<{ table_name: string; column_name: string }>`
    select table_name, column_name from information_schema.columns
    where table_schema = current_schema() and is_identity = 'YES'`.execute(db);
  for (const { table_name, column_name } of rows) {
    await sql`
      select setval(pg_get_serial_sequence(${table_name}, ${column_name}), max(${sql.ref(column_name)}))
      from ${sql.table(table_name)} having max(${sql.ref(column_name)}) is not null`.execute(db);
  }
  for (const table of copiedTableNames) await sql`analyze ${sql.table(table)}`.execute(db);
}

export async function finishImport(db: Db): Promise<void> {
  await db
    .updateTable('import_from_sqlite')
    .set({ finished_at: currentTime(db) })
    .execute();
}
