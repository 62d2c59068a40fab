import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { ConfigError } from '../../base/errors.js';
import { fingerprintOf, keyInFile } from '../../base/server-key.js';
import type { Config } from '../../config.js';
import { ApiKeys } from '../accounts/api-keys.js';
import { isPostgres } from '../db/dialect.js';
import { type Db, migrate, openDatabase } from '../db/open.js';
import { isPostgresUrl, isUnencrypted, withoutPassword } from '../db/postgres.js';
import { type DataDir, openDataDir } from './data-dir.js';
import { type FileStores, openFileStores } from './file-stores.js';

/** The stores of an installation, opened and migrated. */
export interface Store {
  dirs: DataDir;
  db: Db;
  /** Use it through `subkey`. */
  serverKey: Buffer;
  keys: ApiKeys;
  files: FileStores;
}

/**
 * Creates the data directory and migrates the database. `log` receives the database's outages. `db.destroy()` closes it.
 * @throws {ConfigError} if one of them cannot be used
 */
export async function openTables(config: Config, log?: Logger): Promise<Pick<Store, 'dirs' | 'db'>> {
  const dirs = openDataDir(config);
  if (isPostgresUrl(dirs.database) && isUnencrypted(dirs.database)) {
    log?.warn(
      'the connection to PostgreSQL on another machine is not encrypted; add ?sslmode=verify-full to its URL, see "TLS to PostgreSQL" in docs/operations/deployment.md',
    );
  }
  const migrating = openDatabase(dirs.database, { connections: 2, withoutTimeout: true });
  try {
    await migrate(migrating, dirs.database);
    await requireCompleteImport(migrating, dirs.database);
  } finally {
    await migrating.destroy();
  }
  return { dirs, db: openDatabase(dirs.database, { log }) };
}

/** Opens all stores for a server. `store.db.destroy()` closes them. @throws {ConfigError} if one cannot be used */
export async function openStore(config: Config, log?: Logger): Promise<Store> {
  const { dirs, db } = await openTables(config, log);
  try {
    const serverKey = isPostgres(db) ? await sharedKey(db, config.serverKey) : keyInFile(dirs.serverKey);
    return {
      dirs,
      db,
      serverKey,
      keys: new ApiKeys(serverKey),
      files: await openFileStores(dirs, config),
    };
  } catch (error) {
    await db.destroy();
    throw error;
  }
}

/** @throws {ConfigError} if a copy into this database is incomplete */
async function requireCompleteImport(db: Db, location: string): Promise<void> {
  if (!isPostgres(db)) return;
  const incomplete = await db
    .selectFrom('import_from_sqlite')
    .select('id')
    .where('finished_at', 'is', null)
    .executeTakeFirst();
  if (!incomplete) return;
  throw new ConfigError(
    `${withoutPassword(location)} contains an incomplete copy by \`gen3d admin migrate-to\`. Run that again until it finishes, then start servers`,
  );
}

/**
 * The key of all servers of a PostgreSQL: from their settings, or else a random one that the database stores. The database
 * also stores a fingerprint: a server with another key does not start. It would issue API keys that no other server accepts,
 * and could not decrypt the webhook secrets.
 * @throws {ConfigError} if the key in the settings is not the database's, or is missing
 */
export async function sharedKey(db: Db, given?: string): Promise<Buffer> {
  const offered = given ?? randomBytes(32).toString('hex');
  await db
    .insertInto('server_key')
    .values({ id: 1, key: given === undefined ? offered : null, fingerprint: fingerprintOf(offered) })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const stored = await db.selectFrom('server_key').selectAll().executeTakeFirstOrThrow();
  const key = given ?? stored.key;
  if (key === null) {
    throw new ConfigError('This database was set up with GEN3D_SERVER_KEY. Give this server the same key');
  }
  if (fingerprintOf(key) !== stored.fingerprint) {
    throw new ConfigError(
      'GEN3D_SERVER_KEY is not the key that this database was set up with. Give all its servers the same key',
    );
  }
  return Buffer.from(key, 'hex');
}
