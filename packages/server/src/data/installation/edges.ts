import type { Logger } from 'pino';
import type { Config } from '../../config.js';
import type { DatabaseKind, Db } from '../db/database.js';
import type { DataDir } from './data-dir.js';
import type { FileStores } from './file-stores.js';

/**
 * Declares the functions through which the core reaches code that only larger installations need. The composition root,
 * src/edges.ts, supplies the implementations.
 */
export interface Edges {
  /** Returns the kind of the database at a location: the path of a SQLite file, or a URL. */
  databaseAt(location: string): DatabaseKind;
  /** Opens the stores of models and images, which are in folders or in a bucket, without a request to them. */
  openFileStores(dirs: Pick<DataDir, 'assets' | 'inputs'>, config: FileStoreConfig): Promise<FileStores>;
  /**
   * Ensures that no other database uses the location of models and images, and that all servers of the database use the
   * same one.
   * @throws {ConfigError} that names both databases or both locations, and says what to do
   */
  claimLocation(store: { db: Db; dirs: DataDir; files: FileStores }, log: Logger): Promise<void>;
}

export type FileStoreConfig = Pick<Config, 's3Endpoint' | 's3ForcePathStyle'>;
