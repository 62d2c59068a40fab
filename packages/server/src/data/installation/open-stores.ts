import type { Logger } from 'pino';
import { KeyRing } from '../../base/server-key.js';
import type { Config } from '../../config.js';
import { ApiKeys } from '../accounts/api-keys.js';
import type { DatabaseKind, Db } from '../db/database.js';
import { migrate, openDatabase } from '../db/open.js';
import { type DataDir, openDataDir } from './data-dir.js';
import type { Edges, FileStores } from './edges.js';

/** The stores of an installation, opened and migrated. */
export interface Store {
  dirs: DataDir;
  kind: DatabaseKind;
  db: Db;
  keyRing: KeyRing;
  keys: ApiKeys;
  files: FileStores;
}

interface OpenOptions {
  /** Receives the database's outages. */
  log?: Logger;
  /** Refuses to migrate an existing database: commands may run while a server of another version does. */
  onlyNew?: boolean;
}

/**
 * Creates the data directory and migrates the database. `db.destroy()` closes it.
 * @throws {ConfigError} if one of them cannot be used
 */
export async function openTables(
  edges: Edges,
  config: Config,
  { log, onlyNew = false }: OpenOptions = {},
): Promise<Pick<Store, 'dirs' | 'kind' | 'db'>> {
  const dirs = await openDataDir(config);
  const kind = edges.databaseAt(dirs.database);
  const warning = kind.warningAbout(dirs.database);
  if (warning !== undefined) log?.warn(warning);
  const migrating = openDatabase(kind, dirs.database, { connections: 2, withoutTimeout: true });
  try {
    await migrate(migrating, dirs.database, { onlyNew });
  } finally {
    await migrating.destroy();
  }
  return { dirs, kind, db: openDatabase(kind, dirs.database, { log }) };
}

/** Opens all stores. `store.db.destroy()` closes them. @throws {ConfigError} if one cannot be used */
export async function openStore(edges: Edges, config: Config, options?: OpenOptions): Promise<Store> {
  const { dirs, kind, db } = await openTables(edges, config, options);
  try {
    const readKeys = () => kind.serverKeys(db, dirs.serverKey, config.serverKey);
    const keyRing = new KeyRing(await readKeys(), readKeys);
    const files = await edges.openFileStores(dirs, config);
    return { dirs, kind, db, keyRing, keys: new ApiKeys(keyRing), files };
  } catch (error) {
    await db.destroy();
    throw error;
  }
}
