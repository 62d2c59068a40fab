import { Kysely, Migrator, type Transaction } from 'kysely';
import { ConfigError } from '../../base/errors.js';
import { isPostgres } from './dialect.js';
import { requireNoForeignTables } from './foreign-tables.js';
import { migrations } from './migrations.js';
import { isPostgresUrl, type PostgresOptions, postgresDialect, withoutPassword } from './postgres.js';
import { PostgresTypes } from './postgres-types.js';
import { isWantOfRights, wantOfRights } from './rights.js';
import { damaged, isDamage, sqliteDialect } from './sqlite.js';
import type { Tables } from './tables.js';
import { DatabaseLockedError, isUnavailable } from './unavailable.js';

export type Db = Kysely<Tables>;
/** What a query needs: the database, or the transaction it must be part of. */
export type Queryable = Db | Transaction<Tables>;

/**
 * Opens the PostgreSQL database of a postgres:// URL, or the SQLite file at a path, making that if it is missing. A
 * PostgreSQL is not connected to before the first query. Call `destroy()` when done.
 * @throws {ConfigError} if the SQLite file is no database, or is damaged
 */
export function openDatabase(location: string, options: PostgresOptions = {}): Db {
  const dialect = isPostgresUrl(location) ? postgresDialect(location, options) : sqliteDialect(location, options.log);
  return new Kysely<Tables>({ dialect });
}

/**
 * Brings the tables up to date. Safe when several processes do it at once: on SQLite each runs in one immediate
 * transaction, on PostgreSQL one at a time holds an advisory lock.
 * @throws {ConfigError} when there is no connection, the user lacks rights, the file is damaged, another program's tables are
 *   there, or a newer gen3d has already changed this database
 * @throws {Error} when a migration fails
 */
export async function migrate(db: Db, location = 'The database'): Promise<void> {
  const place = isPostgresUrl(location) ? withoutPassword(location) : location;
  const migrator = new Migrator({
    db: isPostgres(db) ? db.withPlugin(new PostgresTypes()) : db,
    provider: { getMigrations: async () => migrations },
  });
  const update = async () => {
    // Before ours are among them.
    if (isPostgres(db)) await requireNoForeignTables(db, place);
    return (await migrator.migrateToLatest()).error;
  };
  const error = await update().catch((thrown: unknown) => thrown);
  if (!error) return;
  if (error instanceof ConfigError) throw error;
  if (isDamage(error)) throw damaged(place, error);
  if (isWantOfRights(error)) throw await wantOfRights(db, place, error);
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof DatabaseLockedError) {
    throw new ConfigError(`${place} is locked by another process. Wait until that has finished, then start again`, {
      cause: error,
    });
  }
  if (isUnavailable(error)) {
    throw new ConfigError(`Cannot use the database ${place}. ${message}. Check --database`, { cause: error });
  }
  if (message.includes('corrupted migrations')) {
    const another = isPostgres(db) ? 'database with --database' : 'data directory with --data-dir';
    throw new ConfigError(`${place} was written by a newer gen3d: update gen3d, or choose another ${another}`, {
      cause: error,
    });
  }
  throw new Error(`Cannot bring the database up to date: ${message}`, { cause: error });
}
