import type { Logger } from 'pino';
import { KeyRing } from '../../base/server-key.js';
import type { Config } from '../../config.js';
import { ApiKeys } from '../accounts/api-keys.js';
import type { DatabaseKind, Db } from '../db/database.js';
import { openDatabase } from '../db/open.js';
import { type DataDir, openDataDir } from './data-dir.js';
import type { FileStoreConfig, FileStores } from './file-stores.js';
import type { KeyStore } from './key-store.js';

/**
 * Declares the functions through which the core reaches code that only larger installations need. The composition root,
 * src/composition.ts, supplies the implementations.
 */
export interface StoreEdges {
  /** Returns the kind of the database at a location: the path of a SQLite file, or a URL. */
  databaseAt(location: string): DatabaseKind;
  /**
   * Checks the database before anything in it is changed, and runs the pending migrations.
   * @throws {ConfigError} that says what is wrong with the database, and what to do
   */
  migrate(db: Db, location: string, options?: OpenOptions): Promise<void>;
  /** Opens the server keys, which protect API keys and secrets. `given` are those in the settings. */
  serverKeys(db: Db, file: string, given: string | undefined): KeyStore;
  /** Opens the stores of models and images, which are in folders or in a bucket, without a request to them. */
  openFileStores(dirs: Pick<DataDir, 'assets' | 'inputs'>, config: FileStoreConfig): Promise<FileStores>;
  /**
   * Ensures that no other database uses the location of models and images, and that all servers of the database use the
   * same one.
   * @throws {ConfigError} that names both databases or both locations, and says what to do
   */
  claimLocation(store: { db: Db; dirs: DataDir; files: FileStores }, log: Logger): Promise<void>;
}

/** The stores of an installation, opened and migrated. */
export interface Store {
  dirs: DataDir;
  db: Db;
  serverKeys: KeyStore;
  keyRing: KeyRing;
  keys: ApiKeys;
  files: FileStores;
}

export interface OpenOptions {
  /** Receives warnings, and the database's outages. */
  log?: Logger | undefined;
  /** Refuses to migrate an existing database: commands may run while a server of another version does. */
  onlyNew?: boolean;
}

/**
 * Creates the data directory and migrates the database. `db.destroy()` closes it.
 * @throws {ConfigError} if one of them cannot be used
 */
export async function openTables(
  edges: StoreEdges,
  config: Config,
  options: OpenOptions = {},
): Promise<Pick<Store, 'dirs' | 'db'>> {
  const dirs = await openDataDir(config);
  const kind = edges.databaseAt(dirs.database);
  const migrating = openDatabase(kind, dirs.database, { connections: 2, withoutTimeout: true });
  await edges.migrate(migrating, dirs.database, options).finally(() => migrating.destroy());
  return { dirs, db: openDatabase(kind, dirs.database, { log: options.log }) };
}

/** Opens all stores. `store.db.destroy()` closes them. @throws {ConfigError} if one cannot be used */
export async function openStore(edges: StoreEdges, config: Config, options?: OpenOptions): Promise<Store> {
  const { dirs, db } = await openTables(edges, config, options);
  try {
    const serverKeys = edges.serverKeys(db, dirs.serverKey, config.serverKey);
    const keyRing = new KeyRing(await serverKeys.read(), serverKeys.read);
    const files = await edges.openFileStores(dirs, config);
    return { dirs, db, serverKeys, keyRing, keys: new ApiKeys(keyRing), files };
  } catch (error) {
    await db.destroy();
    throw error;
  }
}
