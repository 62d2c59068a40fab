import { sql } from 'kysely';
import { AdminError } from '../../base/errors.js';
import { fingerprintOf, type ServerKeys, textOf } from '../../base/server-key.js';
import type { Db, Queryable } from '../../data/db/database.js';
import { currentTime } from '../../data/db/time.js';
import { advisoryLock, transaction } from '../../data/db/transaction.js';
import { withSharedTables } from '../postgres/shared-tables.js';
import { copiedTableNames } from './source.js';

/** How far a database had been copied when it was claimed. */
export type Progress = 'empty' | 'half-copied' | 'finished';

const emptyAdvice = 'Use an empty database, for example one made with `createdb`';

/**
 * Claims the database for the copy of an installation, which its server key identifies. The database stores the keys with
 * `keepKey`, or else only its fingerprint.
 * @throws {AdminError} if it contains anything but a complete or partial copy of this installation
 */
export async function claimTarget(
  db: Db,
  location: string,
  serverKeys: ServerKeys,
  keepKey: boolean,
): Promise<Progress> {
  return transaction(db, async (trx) => {
    await advisoryLock(trx, 'import from sqlite');
    const fingerprint = fingerprintOf(serverKeys[0] as Buffer);
    const tables = withSharedTables(trx);
    const existing = await tables.selectFrom('import_from_sqlite').selectAll().executeTakeFirst();
    if (existing) {
      const key = await tables.selectFrom('server_key').selectAll().executeTakeFirst();
      if (key?.fingerprint !== fingerprint) {
        throw new AdminError(`${location} contains the copy of another installation. ${emptyAdvice}`);
      }
      if (existing.finished_at !== null) return 'finished';
    } else {
      await requireEmpty(trx, location);
      await tables
        .insertInto('import_from_sqlite')
        .values({ id: 1, started_at: currentTime(db), finished_at: null })
        .execute();
    }
    await tables.deleteFrom('server_key').execute();
    await tables
      .insertInto('server_key')
      .values({ id: 1, key: keepKey ? textOf(serverKeys) : null, fingerprint })
      .execute();
    return existing ? 'half-copied' : 'empty';
  });
}

/** Requires a database without rows. It may have a server key, on which nothing depends. */
async function requireEmpty(db: Queryable, location: string): Promise<void> {
  const filled: string[] = [];
  for (const table of copiedTableNames) {
    const { rows } = await sql`select 1 from ${sql.table(table)} limit 1`.execute(db);
    if (rows.length > 0) filled.push(table);
  }
  if (filled.length === 0) return;
  throw new AdminError(`${location} is already in use by gen3d (it has rows in ${filled.join(', ')}). ${emptyAdvice}`);
}

/** Advances identity columns past the highest copied value, and updates the planner's statistics. */
export async function finishTables(db: Db): Promise<void> {
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
  await withSharedTables(db)
    .updateTable('import_from_sqlite')
    .set({ finished_at: currentTime(db) })
    .execute();
}
