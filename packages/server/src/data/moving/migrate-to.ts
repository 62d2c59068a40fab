import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { AdminError, ConfigError } from '../../base/errors.js';
import { isS3Url } from '../../base/s3-url.js';
import { keyInFile } from '../../base/server-key.js';
import type { Config } from '../../config.js';
import { FolderAssetStore } from '../assets/folder-store.js';
import { requireNoForeignTables } from '../db/foreign-tables.js';
import { type Db, migrate, openDatabase } from '../db/open.js';
import { withoutPassword } from '../db/postgres.js';
import { isUnavailable } from '../db/unavailable.js';
import { FolderInputStore } from '../inputs/folder-store.js';
import { type DataDir, dataDirOf } from '../installation/data-dir.js';
import { openFileStores } from '../installation/file-stores.js';
import { isStorageUnavailable } from '../s3/unavailable.js';
import { type CopiedTable, copiedTableNames } from './copied-tables.js';
import { copyAssets, copyPhotos, type FileCounts, noFiles } from './copy-files.js';
import { copyTable } from './copy-table.js';
import { openSource, type Source } from './source.js';
import { claimTarget, finishImport, type Progress, settleTables } from './target.js';

export interface Move {
  /** Where the SQLite installation lies, as its server's settings say. */
  source: Pick<Config, 'dataDir' | 'assets'>;
  /** The settings of the servers to come: `database`, `serverKey` if they are given it, and `assets` with what belongs to a bucket. */
  target: Config;
  /** Copy the models, and to a bucket the photos of waiting jobs, to the target's assets. Else they stay where they are. */
  files: boolean;
  /** Hears a sentence now and then. */
  onProgress?: (sentence: string) => void;
}

export interface MoveReport {
  /** What the database was found to hold. `finished`: it was copied before, and was not looked at again. */
  found: Progress;
  /** Rows of each table, on both sides: they are equal. Empty where the database was finished before. */
  tables: { table: CopiedTable; source: number; target: number }[];
  /** Absent where the files stay. */
  files?: {
    to: string;
    assets: FileCounts;
    photos: FileCounts;
    /** What the database names and the source has not: asset keys, and ids of waiting jobs without their photo. */
    missing: string[];
  };
  /** Photos of waiting jobs that stay in the source's data directory: the new servers need it. */
  photosLeft: number;
}

/** Rows between two words about a large table. */
const wordEvery = 50_000;

/**
 * Copies a SQLite installation that nobody uses into a PostgreSQL, so that servers there go on with its accounts, keys, jobs,
 * ledger, webhooks and sessions. Only reads the source, and locks it meanwhile. May be killed at any moment and run again; no
 * server starts on the target before it has come to its end.
 * @throws {AdminError} if the source is in use, the target holds something else, or one of them fails on the way
 * @throws {ConfigError} for a setting that cannot be used
 */
export async function migrateTo({ source, target, files, onProgress = () => {} }: Move): Promise<MoveReport> {
  const dirs = dataDirOf({ dataDir: source.dataDir, assets: source.assets });
  if (files && isS3Url(dirs.assets)) {
    throw new AdminError(
      `GEN3D_ASSETS says that the models lie in ${dirs.assets} already, and nothing is copied from there. Leave --assets out, or unset GEN3D_ASSETS if they are in the data directory`,
    );
  }
  const from = openSource(dirs.database);
  const place = withoutPassword(target.database);
  const db = openDatabase(target.database, { connections: 2, withoutTimeout: true });
  try {
    const key = serverKeyOf(dirs.serverKey, target.serverKey);
    // Also a part of `migrate`, whose words about a database that is away are those for a server.
    await requireNoForeignTables(db, place);
    await migrate(db, target.database);
    const found = await claimTarget(db, place, key, target.serverKey === undefined);
    if (found === 'finished' && !files) {
      throw new AdminError(
        `${place} was filled from here before, to the end: start servers on it. Nothing was copied, since what they have written would be lost`,
      );
    }
    if (found === 'half-copied') onProgress('Going on with a copy that did not come to its end');
    if (found !== 'finished') {
      for (const table of copiedTableNames) await copyTable(from, db, table, reporter(table, onProgress));
    }
    const copied = files ? await copyFiles(from, dirs, target, onProgress) : undefined;
    const tables = found === 'finished' ? [] : await sameCounts(from, db);
    if (found !== 'finished') {
      await settleTables(db);
      await finishImport(db);
    }
    const photosLeft = copied && isS3Url(copied.to) ? 0 : from.waitingPhotos().length;
    return { found, tables, ...(copied && { files: copied }), photosLeft };
  } catch (error) {
    const again = 'Run this again when that is mended: it goes on where it stopped';
    if (isUnavailable(error)) throw new AdminError(`Cannot use ${place}. ${error.message}. ${again}`, { cause: error });
    if (isStorageUnavailable(error)) throw new AdminError(`${error.message}. ${again}`);
    throw error;
  } finally {
    from.close();
    await db.destroy();
  }
}

/** The key under which API keys and webhook secrets are stored, so that they are good on the target too. */
function serverKeyOf(path: string, given: string | undefined): string {
  if (!existsSync(path)) {
    throw new AdminError(
      `${path} is not there: without it no API key and no webhook secret can be used. Put a backup in its place`,
    );
  }
  const key = keyInFile(path).toString('hex');
  if (given !== undefined && given !== key) {
    throw new ConfigError(
      `GEN3D_SERVER_KEY is not the key in ${path}, under which API keys and webhook secrets are stored: set it to that one, or to nothing, and the database keeps it`,
    );
  }
  return key;
}

function reporter(table: string, onProgress: (sentence: string) => void): (rows: number) => void {
  let next = wordEvery;
  return (rows) => {
    if (rows < next) return;
    next += wordEvery;
    onProgress(`${table}: ${rows} rows`);
  };
}

async function copyFiles(
  from: Source,
  { assets, inputs }: DataDir,
  target: Config,
  onProgress: (sentence: string) => void,
): Promise<NonNullable<MoveReport['files']>> {
  if (!existsSync(assets)) throw new AdminError(`${assets}, where the models should lie, is not there`);
  const to = dataDirOf(target);
  const stores = await openFileStores(to, target);
  await stores.check();
  const report = { to: to.assets, assets: noFiles(), photos: noFiles(), missing: [] as string[] };
  onProgress(`Copying the models to ${to.assets}`);
  const source = new FolderAssetStore(assets);
  await copyAssets(
    source.keys(async (jobId) => from.outcomeOf(jobId)),
    source,
    stores.assets,
    report.assets,
  );
  // A data directory keeps the photos itself, also where the models lie in a folder elsewhere.
  if (isS3Url(to.assets)) {
    report.missing.push(
      ...(await copyPhotos(from.waitingPhotos(), new FolderInputStore(inputs), stores.inputs, report.photos)),
    );
  }
  for (const key of from.assetKeys()) if (!existsSync(join(assets, key))) report.missing.push(key);
  return report;
}

async function sameCounts(from: Source, db: Db): Promise<MoveReport['tables']> {
  const tables: MoveReport['tables'] = [];
  for (const table of copiedTableNames) {
    const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(table)}`.execute(db);
    tables.push({ table, source: from.count(table), target: rows[0]?.count ?? 0 });
  }
  const wrong = tables.filter(({ source, target }) => source !== target);
  if (wrong.length > 0) {
    const counts = wrong.map(({ table, source, target }) => `${table} has ${target} rows instead of ${source}`);
    throw new AdminError(
      `The copy is not whole: ${counts.join(', ')}. Somebody else writes there: stop that, and run this again`,
    );
  }
  return tables;
}
