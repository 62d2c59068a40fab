import { Kysely, Migrator, type Transaction } from 'kysely';
import { ConfigError } from '../../base/errors.js';
import { isPostgres } from './dialect.js';
import { requireNoForeignTables } from './foreign-tables.js';
import { migrations } from './migrations.js';
import { isPostgresUrl, type PostgresOptions, postgresDialect, withoutPassword } from './postgres.js';
import { insufficientPrivilege, isInsufficientPrivilege } from './rights.js';
import { damaged, isDamage, sqliteDialect } from './sqlite.js';
import type { Tables } from './tables.js';
import { DatabaseLockedError, isUnavailable } from './unavailable.js';

export type Db = Kysely<Tables>;
/** The database, or a transaction. */
export type Queryable = Db | Transaction<Tables>;

/**
 * Opens the PostgreSQL database of a postgres:// URL, or the SQLite file at a path, which is created if missing. PostgreSQL
 * is connected on the first query. Call `destroy()` when done.
 * @throws {ConfigError} if the SQLite file is damaged or is not a database
 */
export function openDatabase(location: string, options: PostgresOptions = {}): Db {
  const dialect = isPostgresUrl(location) ? postgresDialect(location, options) : sqliteDialect(location, options.log);
  return new Kysely<Tables>({ dialect });
}

/** Resolves with true if the database responds, and rejects otherwise. */
export async function ping(db: Db): Promise<true> {
  await db.selectFrom('accounts').select('id').limit(1).execute();
  return true;
}

/**
 * Runs the pending migrations. Safe when several processes do so at the same time: on SQLite each runs in one immediate
 * transaction, on PostgreSQL kysely takes an advisory lock.
 * @throws {ConfigError} if the connection fails, the user lacks privileges, the file is damaged, the database contains
 *   another program's tables, or a newer gen3d has already migrated it
 * @throws {Error} if a migration fails
 */
export async function migrate(db: Db, location = 'The database'): Promise<void> {
  const name = isPostgresUrl(location) ? withoutPassword(location) : location;
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  const update = async () => {
    if (isPostgres(db)) await requireNoForeignTables(db, name);
    return (await migrator.migrateToLatest()).error;
  };
  const error = await update().catch((thrown: unknown) => thrown);
  if (!error) return;
  if (error instanceof ConfigError) throw error;
  if (isDamage(error)) throw damaged(name, error);
  if (isInsufficientPrivilege(error)) throw await insufficientPrivilege(db, name, error);
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof DatabaseLockedError) {
    throw new ConfigError(
      `${name} is locked by another process. Wait until that process has finished, then try again`,
      {
        cause: error,
      },
    );
  }
  if (isUnavailable(error)) {
    throw new ConfigError(`Cannot use the database ${name}. ${message}. Check --database`, { cause: error });
  }
  if (message.includes('corrupted migrations')) {
    const another = isPostgres(db) ? 'database with --database' : 'data directory with --data-dir';
    throw new ConfigError(`${name} was written by a newer gen3d. Update gen3d, or choose another ${another}`, {
      cause: error,
    });
  }
  throw new Error(`Cannot migrate the database: ${message}`, { cause: error });
}
