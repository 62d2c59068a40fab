import { existsSync } from 'node:fs';
import { sql } from 'kysely';
import { AdminError, ConfigError } from '../../base/errors.js';
import { keysInFile, keysOf, type ServerKeys, textOf } from '../../base/server-key.js';
import type { Config } from '../../config.js';
import { openDatabase } from '../../data/db/open.js';
import { transaction } from '../../data/db/transaction.js';
import { isUnavailable } from '../../data/db/unavailable.js';
import { dataDirOf } from '../../data/installation/data-dir.js';
import type { StoreEdges } from '../../data/installation/open-stores.js';
import { withoutPassword } from '../postgres/connections.js';
import { type CopiedRows, copyTables } from './copy-tables.js';
import { openSource } from './source.js';
import { isCopied, requireEmpty, storeServerKeys } from './target.js';

export interface Move {
  /** The data directory of the SQLite installation. */
  dataDir: string;
  /** Settings of the new servers: `database`, and `serverKey` if they have one. */
  target: Pick<Config, 'database' | 'serverKey'>;
  /** Receives a sentence from time to time. */
  onProgress?: (sentence: string) => void;
}

export interface MoveReport {
  tables: CopiedRows[];
  /** Number of unfinished jobs whose photos came with the request, so that servers cannot fetch them. */
  jobsWithPhotos: number;
}

/**
 * Copies a stopped SQLite installation into a PostgreSQL database, whose servers then continue with its accounts, keys,
 * jobs, ledger, webhooks and sessions. Only reads the source, which stays locked meanwhile. Copies the tables in one
 * transaction, so the target has all rows or none. Models and photos stay where they are.
 * @throws {AdminError} if the source is in use, the target contains other data, or one of them fails meanwhile
 * @throws {ConfigError} for a setting that cannot be used
 */
export async function migrateTo(
  edges: Pick<StoreEdges, 'databaseAt' | 'migrate'>,
  { dataDir, target, onProgress = () => {} }: Move,
): Promise<MoveReport> {
  const paths = dataDirOf({ dataDir, assets: undefined });
  const from = openSource(paths.database);
  const location = withoutPassword(target.database);
  const db = openDatabase(edges.databaseAt(target.database), target.database, { connections: 2, withoutTimeout: true });
  try {
    const keys = serverKeysOf(paths.serverKey, target.serverKey);
    // If the database is unavailable, the message of `migrate` is one for servers.
    await sql`select 1`.execute(db);
    await edges.migrate(db, target.database);
    if (await isCopied(db, location, keys)) {
      throw new AdminError(
        `${location} already contains a complete copy of this installation. Start servers on it. Nothing was copied, because that would overwrite what they wrote`,
      );
    }
    const tables = await transaction(db, async (trx) => {
      await requireEmpty(trx, location);
      await storeServerKeys(trx, keys, target.serverKey === undefined);
      onProgress('Copying the tables');
      return copyTables(from, trx);
    });
    return { tables, jobsWithPhotos: from.jobsWithPhotos() };
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    throw new AdminError(`Cannot use ${location}. ${error.message}. Fix the problem, then run this command again`, {
      cause: error,
    });
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
