import { existsSync } from 'node:fs';
import { sql, type Transaction } from 'kysely';
import { AdminError, ConfigError, isStorageUnavailable } from '../../base/errors.js';
import { isS3Url } from '../../base/s3-url.js';
import { keysInFile, keysOf, type ServerKeys, textOf } from '../../base/server-key.js';
import type { Config } from '../../config.js';
import { FolderAssetStore } from '../../data/assets/folder-store.js';
import { openDatabase } from '../../data/db/open.js';
import type { Tables } from '../../data/db/tables.js';
import { transaction } from '../../data/db/transaction.js';
import { isUnavailable } from '../../data/db/unavailable.js';
import { FolderInputStore } from '../../data/inputs/folder-store.js';
import { type DataDir, dataDirOf } from '../../data/installation/data-dir.js';
import type { StoreEdges } from '../../data/installation/open-stores.js';
import { withoutPassword } from '../postgres/connections.js';
import { copyAssets, copyInputs, type FileCounts, noFiles, type StoredInput } from './copy-files.js';
import { type CopiedRows, copyTables } from './copy-tables.js';
import { openSource, type Source } from './source.js';
import { isCopied, requireEmpty, storeServerKeys } from './target.js';

export interface Move {
  /** Settings of the SQLite installation's server. */
  source: Pick<Config, 'dataDir' | 'assets'>;
  /** Settings of the new servers: `database`, `assets` with the bucket's settings, and `serverKey` if they have one. */
  target: Config;
  /** Whether to copy the models, too, and, if the target is a bucket, the images that jobs need. */
  files: boolean;
  /** Receives a sentence from time to time. */
  onProgress?: (sentence: string) => void;
}

export interface MoveReport {
  /** The state of the target database. `finished` means that it had been copied before, and was left unchanged. */
  found: 'empty' | 'finished';
  /** Empty if the copy was finished before. */
  tables: CopiedRows[];
  /** Absent if the files were not copied. */
  files?: {
    to: string;
    assets: FileCounts;
    photos: FileCounts;
  };
  /** Number of images that jobs need and that stay in the source's data directory, which the new servers need. */
  photosLeft: number;
}

/**
 * Copies a stopped SQLite installation into a PostgreSQL database, whose servers then continue with its accounts, keys,
 * jobs, ledger, webhooks and sessions. Only reads the source, which stays locked meanwhile. Copies the tables in one
 * transaction, after the files, so the target has all rows or none. Can be interrupted at any time and run again.
 * @throws {AdminError} if the source is in use, the target contains other data, or one of them fails meanwhile
 * @throws {ConfigError} for a setting that cannot be used
 */
export async function migrateTo(
  edges: StoreEdges,
  { source, target, files, onProgress = () => {} }: Move,
): Promise<MoveReport> {
  const dirs = dataDirOf({ dataDir: source.dataDir, assets: source.assets });
  if (files && isS3Url(dirs.assets)) {
    throw new AdminError(
      `According to GEN3D_ASSETS the models are already in ${dirs.assets}, and copying from a bucket is not supported. Omit --assets, or unset GEN3D_ASSETS if they are in the data directory`,
    );
  }
  const from = openSource(dirs.database);
  const location = withoutPassword(target.database);
  const db = openDatabase(edges.databaseAt(target.database), target.database, { connections: 2, withoutTimeout: true });
  try {
    const keys = serverKeysOf(dirs.serverKey, target.serverKey);
    // `migrate` would word an unavailable database for a server.
    await sql`select 1`.execute(db);
    await edges.migrate(db, target.database);
    const isFinished = await isCopied(db, location, keys);
    if (isFinished && !files) {
      throw new AdminError(
        `${location} already contains a complete copy of this installation. Start servers on it. Nothing was copied, because that would overwrite what they wrote`,
      );
    }
    const copied = files ? await copyFiles(edges, from, dirs, target, onProgress) : undefined;
    const copy = async (trx: Transaction<Tables>) => {
      await requireEmpty(trx, location);
      await storeServerKeys(trx, keys, target.serverKey === undefined);
      onProgress('Copying the tables');
      return copyTables(from, trx);
    };
    const tables = isFinished ? [] : await transaction(db, copy);
    const photosLeft = copied && isS3Url(copied.to) ? 0 : (await neededInputs(from, dirs.inputs)).length;
    return { found: isFinished ? 'finished' : 'empty', tables, ...(copied && { files: copied }), photosLeft };
  } catch (error) {
    const again = 'Fix the problem, then run this command again';
    if (isUnavailable(error))
      throw new AdminError(`Cannot use ${location}. ${error.message}. ${again}`, { cause: error });
    if (isStorageUnavailable(error)) throw new AdminError(`${error.message}. ${again}`);
    throw error;
  } finally {
    from.close();
    await db.destroy();
  }
}

/** Reads the source's server keys. The target needs them, too, to check API keys and decrypt webhook secrets. */
function serverKeysOf(path: string, given: string | undefined): ServerKeys {
  if (!existsSync(path)) {
    throw new AdminError(
      `${path} does not exist. Without it, no API key or webhook secret can be used. Restore it from a backup`,
    );
  }
  const keys = keysInFile(path);
  if (given !== undefined && textOf(keysOf(given)) !== textOf(keys)) {
    throw new ConfigError(
      `GEN3D_SERVER_KEY is not the key in ${path}, which protects API keys and webhook secrets. Set it to that key (to all, separated by commas, if the file has several lines), or unset it to let the database store the key`,
    );
  }
  return keys;
}

async function copyFiles(
  edges: StoreEdges,
  from: Source,
  { assets, inputs }: DataDir,
  target: Config,
  onProgress: (sentence: string) => void,
): Promise<NonNullable<MoveReport['files']>> {
  if (!existsSync(assets)) throw new AdminError(`The assets folder ${assets} does not exist`);
  const to = dataDirOf(target);
  const stores = await edges.openFileStores(to, target);
  await stores.check();
  const report = { to: to.assets, assets: noFiles(), photos: noFiles() };
  onProgress(`Copying the models to ${to.assets}`);
  const source = new FolderAssetStore(assets);
  await copyAssets(
    source.keys(async (jobId) => from.outcomeOf(jobId)),
    source,
    stores.assets,
    report.assets,
  );
  // Without a bucket, the images stay in the data directory, even if the models are in another folder.
  if (isS3Url(to.assets)) {
    await copyInputs(await neededInputs(from, inputs), new FolderInputStore(inputs), stores.inputs, report.photos);
  }
  return report;
}

/** Lists the stored images that jobs still need. */
async function neededInputs(from: Source, folder: string): Promise<StoredInput[]> {
  if (!existsSync(folder)) return [];
  return (await new FolderInputStore(folder).images()).filter(({ jobId }) => from.needsInput(jobId));
}
