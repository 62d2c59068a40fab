import { setTimeout as pause } from 'node:timers/promises';
import { sql, type Transaction } from 'kysely';
import type { Logger } from 'pino';
import { ConfigError } from '../config.js';
import { isPostgres } from '../db/dialect.js';
import { oneAtATime } from '../db/locks.js';
import type { Db } from '../db/open.js';
import type { Tables } from '../db/tables.js';
import { currentTime } from '../db/time.js';
import type { FileStores } from '../file-stores.js';
import { randomToken } from '../ids.js';
import { anyRunner } from '../runner/registry.js';
import { isStorageUnavailable } from '../s3/unavailable.js';

/** A worker that is started together with the first server comes before it. */
const patienceMs = 60_000;
const pollMs = 500;

type Kept = Tables['asset_location'];

const howToMove = 'see "Moving from a folder" in docs/operations/s3.md';

/**
 * Makes sure that a server uses the place of models and photos that all others of its PostgreSQL use; the first one decides
 * it. The place carries a random mark that the database knows, so that folders of one name on two machines, and a folder
 * whose disk is not mounted, are told apart. Another place becomes the database's when nobody else works and the newest
 * model is there. With SQLite there is nothing to compare.
 * @throws {ConfigError} that names both places and says what to do
 */
export async function settleLocation(db: Db, files: FileStores, log: Logger): Promise<void> {
  if (!isPostgres(db)) return;
  await asConfigErrors(files, () =>
    db.transaction().execute(async (trx) => {
      await oneAtATime(trx, 'asset location');
      const kept = await trx.selectFrom('asset_location').selectAll().executeTakeFirst();
      if (kept && (await files.hasMark(kept.mark))) return;
      if (kept) await requireMoved(trx, db, files, kept);
      const mark = randomToken(22);
      // Before the row: a mark that no database knows does no harm, and the other way round nobody could start.
      await files.setMark(mark);
      await trx.deleteFrom('asset_location').execute();
      await trx.insertInto('asset_location').values({ id: 1, mark, location: files.location }).execute();
      if (kept) log.warn(`models and photos lie in ${files.location} from now on, and no more in ${kept.location}`);
    }),
  );
}

/**
 * Makes sure that a worker uses the place of models and photos that the servers of its PostgreSQL use. Waits a minute for
 * the first of them.
 * @throws {ConfigError} that names both places and says what to do, or when no server has started yet
 */
export async function requireLocation(db: Db, files: FileStores, log: Logger): Promise<void> {
  if (!isPostgres(db)) return;
  const lookUp = () => db.selectFrom('asset_location').selectAll().executeTakeFirst();
  let kept = await lookUp();
  if (!kept) log.info('waiting for a server to start on this database');
  for (let waitedMs = 0; !kept && waitedMs < patienceMs; waitedMs += pollMs) {
    await pause(pollMs);
    kept = await lookUp();
  }
  if (!kept) {
    throw new ConfigError(
      'No server of this version has started on this database yet, so where models and photos lie is not known: start `gen3d serve` first',
    );
  }
  const { mark } = kept;
  if (await asConfigErrors(files, () => files.hasMark(mark))) return;
  throw new ConfigError(
    `${otherPlace(kept, files)}. Give this worker the --assets of the servers, and where that is a folder their --data-dir too`,
  );
}

function otherPlace({ location }: Kept, files: FileStores): string {
  const known = `The models and photos of this database lie in ${location}`;
  return location === files.location
    ? `${known}, and this is another place of that name, or an empty one: is its disk mounted?`
    : `${known}, and the settings name ${files.location}`;
}

/** @throws {ConfigError} where the database's place cannot be given up for this one */
async function requireMoved(trx: Transaction<Tables>, db: Db, files: FileStores, kept: Kept): Promise<void> {
  if ((await anyRunner(trx, currentTime(db))) || (await anyListener(trx))) {
    throw new ConfigError(
      `${otherPlace(kept, files)}. Give this server the --assets of the others, and where that is a folder their --data-dir too; or, to move, stop all servers and workers first (one that was killed counts for up to half a minute), ${howToMove}`,
    );
  }
  const newest = await trx
    .selectFrom('jobs')
    .select('model_key')
    .where('model_key', 'is not', null)
    // Every server makes the sample itself.
    .where('model_key', 'not like', 'sample/%')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (!newest?.model_key || (await files.assets.has(newest.model_key))) return;
  throw new ConfigError(
    `${otherPlace(kept, files)}. The newest model, ${newest.model_key}, is not there: set --assets back, or copy the models first, ${howToMove}`,
  );
}

/** Every server and worker listens, also one without runners, until the moment that it ends. */
async function anyListener(trx: Transaction<Tables>): Promise<boolean> {
  const { rows } = await sql`
    select 1 from pg_stat_activity
    where datname = current_database() and query like 'listen gen3d\\_%' and pid <> pg_backend_pid() limit 1`.execute(
    trx,
  );
  return rows.length > 0;
}

async function asConfigErrors<T>({ location }: FileStores, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isStorageUnavailable(error)) throw new ConfigError(error.message, { cause: error });
    const { syscall, message } = error as NodeJS.ErrnoException & Error;
    if (syscall !== 'open' && syscall !== 'mkdir' && syscall !== 'access') throw error;
    throw new ConfigError(`Cannot use ${location} for models and photos: ${message}`, { cause: error });
  }
}
