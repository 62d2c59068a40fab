import type { Logger } from 'pino';
import { keyInFile } from '../../base/server-key.js';
import type { Config } from '../../config.js';
import { ApiKeys } from '../accounts/api-keys.js';
import { isPostgres } from '../db/dialect.js';
import { type Db, migrate, openDatabase } from '../db/open.js';
import { isPostgresUrl, isUnencrypted } from '../db/postgres.js';
import { type DataDir, openDataDir } from './data-dir.js';
import { type FileStores, openFileStores } from './file-stores.js';
import { sharedKey } from './shared-key.js';
import { requireWholeImport } from './whole-import.js';

/** Everything that outlives a process, opened and up to date. */
export interface Store {
  dirs: DataDir;
  db: Db;
  /** Use it through `subkey`. */
  serverKey: Buffer;
  keys: ApiKeys;
  files: FileStores;
}

/** Makes the data directory and brings the database up to date; `log` hears when that goes away. `db.destroy()` closes it. @throws {ConfigError} if one of them cannot be used */
export async function openTables(config: Config, log?: Logger): Promise<Pick<Store, 'dirs' | 'db'>> {
  const dirs = openDataDir(config);
  if (isPostgresUrl(dirs.database) && isUnencrypted(dirs.database)) {
    log?.warn(
      'the connection to PostgreSQL on another machine is not encrypted: add ?sslmode=verify-full to its URL; see "TLS to PostgreSQL" in docs/operations/deployment.md',
    );
  }
  const migrating = openDatabase(dirs.database, { connections: 2, withoutTimeout: true });
  try {
    await migrate(migrating, dirs.database);
    await requireWholeImport(migrating, dirs.database);
  } finally {
    await migrating.destroy();
  }
  return { dirs, db: openDatabase(dirs.database, { log }) };
}

/** Opens the data directory and the database for a server. `store.db.destroy()` closes it. @throws {ConfigError} if it cannot be used */
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
