import { sql } from 'kysely';
import { AdminError } from '../../base/errors.js';
import { fingerprintOf, type ServerKeys, textOf } from '../../base/server-key.js';
import type { Db, Queryable } from '../../data/db/database.js';
import { withSharedTables } from '../postgres/shared-tables.js';
import { copiedTableNames } from './source.js';

/**
 * Returns whether the database contains the copy of an installation, which its server key identifies.
 * @throws {AdminError} if it contains other rows
 */
export async function isCopied(db: Db, location: string, serverKeys: ServerKeys): Promise<boolean> {
  const filled = await filledTables(db);
  if (filled.length === 0) return false;
  const key = await withSharedTables(db).selectFrom('server_key').selectAll().executeTakeFirst();
  if (key?.fingerprint === fingerprintOf(serverKeys[0] as Buffer)) return true;
  throw inUse(location, filled);
}

/** @throws {AdminError} if the database contains rows */
export async function requireEmpty(db: Queryable, location: string): Promise<void> {
  const filled = await filledTables(db);
  if (filled.length > 0) throw inUse(location, filled);
}

const inUse = (location: string, filled: readonly string[]) =>
  new AdminError(
    `${location} is already in use by gen3d (it has rows in ${filled.join(', ')}). Use an empty database, for example one made with \`createdb\``,
  );

async function filledTables(db: Queryable): Promise<string[]> {
  const filled: string[] = [];
  for (const table of copiedTableNames) {
    const { rows } = await sql`select 1 from ${sql.table(table)} limit 1`.execute(db);
    if (rows.length > 0) filled.push(table);
  }
  return filled;
}

/** Replaces the server keys by these if `keep`, or else only by the fingerprint of the current one. */
export async function storeServerKeys(trx: Queryable, serverKeys: ServerKeys, keep: boolean): Promise<void> {
  const tables = withSharedTables(trx);
  await tables.deleteFrom('server_key').execute();
  const fingerprint = fingerprintOf(serverKeys[0] as Buffer);
  await tables
    .insertInto('server_key')
    .values({ id: 1, key: keep ? textOf(serverKeys) : null, fingerprint })
    .execute();
}
