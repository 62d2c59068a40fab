import { Kysely, type MigrationInfo, Migrator } from 'kysely';
import { ConfigError, errorMessage } from '../../base/errors.js';
import { type DatabaseKind, type DatabaseOptions, type Db, kindOf } from './database.js';
import { migrations } from './migrations.js';
import type { Tables } from './tables.js';
import { DatabaseLockedError, isUnavailable } from './unavailable.js';

/**
 * Opens the database at a location. Call `destroy()` when done.
 * @throws {ConfigError} if it cannot be used, for example because the SQLite file is damaged
 */
export function openDatabase(kind: DatabaseKind, location: string, options: DatabaseOptions = {}): Db {
  return new Kysely<Tables>({ dialect: kind.dialect(location, options) });
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
 * @param options `onlyNew`: an existing database is not changed. Throws a ConfigError if it needs to be.
 */
export async function migrate(
  db: Db,
  location = 'The database',
  { onlyNew = false }: { onlyNew?: boolean } = {},
): Promise<void> {
  const kind = kindOf(db);
  const name = kind.describe(location);
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  const update = async () => {
    await kind.requireOwn(db, name);
    if (onlyNew) requireNotOlder(await migrator.getMigrations(), name);
    return (await migrator.migrateToLatest()).error;
  };
  const error = await update().catch((thrown: unknown) => thrown);
  if (!error) return;
  if (error instanceof ConfigError) throw error;
  const explained = await kind.explain(error, db, name);
  if (explained) throw explained;
  const message = errorMessage(error);
  if (error instanceof DatabaseLockedError) {
    throw new ConfigError(
      `${name} is locked by another process. Wait until that process has finished, then try again`,
      { cause: error },
    );
  }
  if (isUnavailable(error)) {
    throw new ConfigError(`Cannot use the database ${name}. ${message}. Check --database`, { cause: error });
  }
  if (message.includes('corrupted migrations')) {
    throw new ConfigError(`${name} was written by a newer gen3d. Update gen3d, or choose another ${kind.anotherOne}`, {
      cause: error,
    });
  }
  throw new Error(`Cannot migrate the database: ${message}`, { cause: error });
}

/** Refuses an older database. A server or worker of its version may be running, and would fail after a migration. */
function requireNotOlder(known: readonly MigrationInfo[], name: string): void {
  const pending = known.filter(({ executedAt }) => !executedAt);
  if (pending.length === 0 || pending.length === known.length) return;
  throw new ConfigError(
    `${name} was written by an older gen3d. Use that version, or update the server first: stop it, then start \`gen3d serve\` of this version`,
  );
}
