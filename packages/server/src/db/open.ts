import { Kysely, Migrator, type Transaction } from 'kysely';
import { ConfigError } from '../config.js';
import { migrations } from './migrations.js';
import { damaged, isDamage, sqliteDialect } from './sqlite.js';
import type { Tables } from './tables.js';

export type Db = Kysely<Tables>;
/** What a query needs: the database, or the transaction it must be part of. */
export type Queryable = Db | Transaction<Tables>;

/** Opens the SQLite file at `path`, making it if it is missing. Call `destroy()` when done. */
export function openDatabase(path: string): Db {
  return new Kysely<Tables>({ dialect: sqliteDialect(path) });
}

/**
 * Brings the tables up to date. Safe when several processes do it at once: each runs in one immediate transaction.
 * @throws {ConfigError} when the file is damaged, or a newer gen3d has already changed this database
 * @throws {Error} when a migration fails
 */
export async function migrate(db: Db, path = 'The database'): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  const { error } = await migrator.migrateToLatest();
  if (!error) return;
  if (isDamage(error)) throw damaged(path, error);
  const message = error instanceof Error ? error.message : String(error);
  if (message.includes('corrupted migrations')) {
    throw new ConfigError(
      `${path} was written by a newer gen3d: update gen3d, or choose another data directory with --data-dir`,
      { cause: error },
    );
  }
  throw new Error(`Cannot bring the database up to date: ${message}`, { cause: error });
}
