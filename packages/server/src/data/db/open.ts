import { Kysely, type Migration, Migrator, sql } from 'kysely';
import { ConfigError, errorMessage } from '../../base/errors.js';
import { type DatabaseKind, type DatabaseOptions, type Db, kindOf } from './database.js';
import { migrations } from './migrations.js';
import { readSchemaState, type SchemaState } from './schema.js';
import { explained } from './sqlite.js';
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
 * Runs the pending migrations, unless the database is not one of this version. Safe when several processes do so at the
 * same time: on SQLite each runs in one immediate transaction, on PostgreSQL kysely takes an advisory lock.
 * @param name the path of a SQLite file, or another name for messages
 * @param options `onlyNew`: an existing database is not changed. Throws a ConfigError if it needs to be.
 * @throws {ConfigError} if the connection fails, the file is damaged, the database contains another program's tables,
 *   or another version of gen3d made it. Nothing in it was changed then
 * @throws {Error} if a migration fails
 */
export async function migrate(
  db: Db,
  name = 'The database',
  { onlyNew = false }: { onlyNew?: boolean } = {},
): Promise<void> {
  const kind = kindOf(db);
  const update = async () => {
    const another = kind.isShared ? 'another database with --database' : 'another data directory with --data-dir';
    requireReadable(await readSchemaState(db), { name, onlyNew, another });
    const provider = { getMigrations: async () => migrationsFor(kind) };
    return (await new Migrator({ db, provider }).migrateToLatest()).error;
  };
  const error = await update().catch((thrown: unknown) => thrown);
  if (!error) return;
  if (error instanceof ConfigError) throw error;
  const sqliteProblem = kind.isShared ? undefined : explained(name, error);
  if (sqliteProblem) throw sqliteProblem;
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
  throw new Error(`Cannot migrate the database: ${message}`, { cause: error });
}

const migrationsFor = (kind: DatabaseKind): Record<string, Migration> =>
  Object.fromEntries(
    Object.entries(migrations).map(([name, common], index) => [
      name,
      {
        async up(db) {
          for (const statement of [...common, ...(index === 0 ? kind.ownStatements : [])]) {
            await sql.raw(kind.define(statement)).execute(db);
          }
        },
      },
    ]),
  );

/** @throws {ConfigError} that says which version reads the database, if this one does not */
function requireReadable(
  state: SchemaState,
  { name, onlyNew, another }: { name: string; onlyNew: boolean; another: string },
): void {
  if (state.relation === 'foreign') {
    const some = state.tables.slice(0, 3).join(', ') + (state.tables.length > 3 ? ', ...' : '');
    throw new ConfigError(
      `${name} contains tables of another program (${some}). Use an empty database: choose ${another}`,
    );
  }
  if (state.relation === 'newer') {
    throw new ConfigError(`${name} was written by a newer gen3d. Update gen3d, or choose ${another}`);
  }
  // A server or worker of the older version may be running, and would fail after a migration.
  if (state.relation === 'older' && onlyNew) {
    throw new ConfigError(
      `${name} was written by an older gen3d. Use that version, or update the server first: stop it, then start \`gen3d serve\` of this version`,
    );
  }
  if (state.relation === 'unknown') {
    throw new ConfigError(
      `${name} was made by another build of gen3d (${state.difference}), and was not changed. Start the build that made it, or choose ${another}`,
    );
  }
}
