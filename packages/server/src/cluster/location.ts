import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { ConfigError, isStorageUnavailable } from '../base/errors.js';
import { randomToken } from '../base/ids.js';
import { isS3Url } from '../base/s3-url.js';
import { type Db, kindOf } from '../data/db/database.js';
import { currentTime } from '../data/db/time.js';
import { advisoryLock, transaction } from '../data/db/transaction.js';
import type { FileStores } from '../data/installation/file-stores.js';
import type { Store } from '../data/installation/open-stores.js';
import { anyRunner } from '../data/runners/registry.js';
import { identityOf } from './identity.js';
import { type DatabaseIdentity, type MarkedFiles, withMarkers } from './markers.js';
import { type StoredLocation, withSharedTables } from './postgres/shared-tables.js';

/** How long a worker waits for the first server, which may have been started at the same time. */
const serverTimeoutMs = 60_000;
const pollMs = 500;

const howToMove = 'see "Moving from a folder" in docs/operations/s3.md';

/**
 * Ensures that no other database uses the server's location of models and images, and that all servers of a PostgreSQL
 * use the same one, which the first server determines. Each database writes a marker with its identity there.
 * PostgreSQL also stores the marker's random name, which detects folders with the same name on two machines and disks
 * that are not mounted. A server can move the database to another location if no other process uses the database and
 * the newest model is there.
 *
 * The location is not accessed inside a transaction, because PostgreSQL ends transactions that are idle for 10 s.
 * @throws {ConfigError} that names both databases or both locations, and says what to do
 */
export async function claimLocation(store: Pick<Store, 'db' | 'dirs' | 'files'>, log: Logger): Promise<void> {
  const { db, dirs } = store;
  const files = withMarkers(store);
  const identity = await identityOf(db, dirs.database);
  await asConfigErrors(files, async () => {
    for (;;) {
      const stored = kindOf(db).isShared
        ? await withSharedTables(db).selectFrom('asset_location').selectAll().executeTakeFirst()
        : { mark: identity.id, location: files.location };
      await requireOwn(files, identity, stored?.mark);
      if (stored && (await files.hasMarker(stored.mark))) {
        // The database's name may have changed, for example because its folder was moved.
        await files.setMarker(stored.mark, identity);
        return;
      }
      if (!kindOf(db).isShared) return files.setMarker(identity.id, identity);
      if (stored) await requireMoved(db, files, stored);
      const mark = randomToken(22);
      // Before the row, because an unknown marker is harmless, but no server starts if a stored marker is missing.
      await files.setMarker(mark, identity);
      if (!(await replaceRow(db, stored, { id: 1, mark, location: files.location }))) continue; // another server was faster
      if (stored) log.warn(`models and images are in ${files.location} from now on, no longer in ${stored.location}`);
      return;
    }
  });
}

/** @returns false if the row has changed */
async function replaceRow(
  db: Db,
  expected: Pick<StoredLocation, 'mark'> | undefined,
  next: StoredLocation,
): Promise<boolean> {
  return transaction(db, async (trx) => {
    await advisoryLock(trx, 'asset location');
    const tables = withSharedTables(trx);
    const found = await tables.selectFrom('asset_location').select('mark').executeTakeFirst();
    if (found?.mark !== expected?.mark) return false;
    await tables.deleteFrom('asset_location').execute();
    await tables.insertInto('asset_location').values(next).execute();
    return true;
  });
}

/** @throws {ConfigError} if the location has the marker of another database */
async function requireOwn(files: MarkedFiles, identity: DatabaseIdentity, mark: string | undefined): Promise<void> {
  const markers = await files.markers();
  const others = markers.filter(({ owner }) => owner.id !== identity.id);
  const [other] = others;
  if (!other) return;
  const relation = other.name === mark ? `${identity.name} is a copy of it` : `this one is ${identity.name}`;
  const paths = others.map(({ path }) => path).join(' and ');
  throw new ConfigError(
    `The file storage at ${files.location} belongs to another database: ${other.owner.name}, and ${relation}. Two databases in one location delete each other's files. Give this one another --assets${isFolder(files) ? ', and another --data-dir if they share that' : ''}. To replace the other database for good, stop its servers and workers, delete ${paths}, and start again. See "Rehearsing a restore" in docs/operations/backup-and-moving.md`,
  );
}

const isFolder = ({ location }: FileStores) => !isS3Url(location);

/**
 * Ensures that a worker uses the same location of models and images as the servers of its PostgreSQL. Waits a minute
 * for the first server.
 * @throws {ConfigError} that names both locations and says what to do, or if no server has started yet
 */
export async function requireLocation(store: Pick<Store, 'db' | 'dirs' | 'files'>, log: Logger): Promise<void> {
  const { db } = store;
  const files = withMarkers(store);
  if (!kindOf(db).isShared) return;
  const lookUp = () => withSharedTables(db).selectFrom('asset_location').selectAll().executeTakeFirst();
  let stored = await lookUp();
  if (!stored) log.info('waiting for a server to start on this database');
  for (let waitedMs = 0; !stored && waitedMs < serverTimeoutMs; waitedMs += pollMs) {
    await pause(pollMs);
    stored = await lookUp();
  }
  if (!stored) {
    throw new ConfigError(
      'No server of this version has started on this database yet, so the location of models and images is unknown. Start `gen3d serve` first',
    );
  }
  const { mark } = stored;
  if (await asConfigErrors(files, () => files.hasMarker(mark))) return;
  throw new ConfigError(
    `${otherLocation(stored, files)}. Give this worker the servers' --assets, and if that is a folder also their --data-dir`,
  );
}

function otherLocation({ location }: Pick<StoredLocation, 'location'>, files: FileStores): string {
  const known = `The models and images of this database are in ${location}`;
  return location === files.location
    ? `${known}, and this is another location of that name, or an empty one. Check that its disk is mounted`
    : `${known}, and the settings name ${files.location}`;
}

/** @throws {ConfigError} if the database cannot move to this location */
async function requireMoved(db: Db, files: FileStores, stored: Pick<StoredLocation, 'location'>): Promise<void> {
  if ((await anyRunner(db, currentTime(db))) || (await anyListener(db))) {
    throw new ConfigError(
      `${otherLocation(stored, files)}. Give this server the --assets of the others, and if that is a folder also their --data-dir. To move, first stop all servers and workers (a killed one counts for up to half a minute); ${howToMove}`,
    );
  }
  const newest = await db
    .selectFrom('jobs')
    .select('model_key')
    .where('model_key', 'is not', null)
    // Every server stores the sample itself.
    .where('model_key', 'not like', 'sample/%')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (!newest?.model_key || (await files.assets.has(newest.model_key))) return;
  throw new ConfigError(
    `${otherLocation(stored, files)}. The newest model, ${newest.model_key}, is missing here. Restore --assets, or copy the models first; ${howToMove}`,
  );
}

/** Checks whether any process is running: every server and worker listens until it exits, even without runners. */
async function anyListener(db: Db): Promise<boolean> {
  const { rows } = await sql`
    select 1 from pg_stat_activity
    where datname = current_database() and query like 'listen gen3d\\_%' and pid <> pg_backend_pid() limit 1`.execute(
    db,
  );
  return rows.length > 0;
}

async function asConfigErrors<T>({ location }: FileStores, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isStorageUnavailable(error)) throw new ConfigError(error.message, { cause: error });
    const { syscall, message } = error as NodeJS.ErrnoException & Error;
    if (syscall !== 'open' && syscall !== 'mkdir' && syscall !== 'access' && syscall !== 'scandir') throw error;
    throw new ConfigError(`Cannot use ${location} for models and images: ${message}`, { cause: error });
  }
}
