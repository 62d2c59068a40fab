import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { ConfigError } from '../../base/errors.js';
import { randomToken } from '../../base/ids.js';
import { isS3Url } from '../../base/s3-url.js';
import { isPostgres } from '../db/dialect.js';
import type { DatabaseIdentity } from '../db/identity.js';
import { advisoryLock } from '../db/locks.js';
import type { Db } from '../db/open.js';
import type { Tables } from '../db/tables.js';
import { currentTime } from '../db/time.js';
import { transaction } from '../db/transaction.js';
import { anyRunner } from '../runners/registry.js';
import { isStorageUnavailable } from '../s3/unavailable.js';
import type { FileStores } from './file-stores.js';

/** A worker that is started together with the first server comes before it. */
const patienceMs = 60_000;
const pollMs = 500;

type Kept = Tables['asset_location'];

const howToMove = 'see "Moving from a folder" in docs/operations/s3.md';

/**
 * Makes sure that a server uses a location of models and images that no other database uses, and that all servers of its
 * PostgreSQL use the same one; the first one decides it. Each database leaves a marker there with its identity. PostgreSQL
 * also knows the marker's random name, which tells apart folders of one name on two machines, and a folder whose disk is not
 * mounted. Another location becomes the database's when nothing else uses the database and the newest model is there.
 *
 * The location is not accessed inside a transaction: PostgreSQL ends one that is idle for 10 s.
 * @throws {ConfigError} that names both databases or both locations, and says what to do
 */
export async function settleLocation(
  db: Db,
  files: FileStores,
  identity: DatabaseIdentity,
  log: Logger,
): Promise<void> {
  await asConfigErrors(files, async () => {
    for (;;) {
      const kept = isPostgres(db)
        ? await db.selectFrom('asset_location').selectAll().executeTakeFirst()
        : { mark: identity.id, location: files.location };
      await requireOwn(files, identity, kept?.mark);
      if (kept && (await files.hasMarker(kept.mark))) {
        // Markers of gen3d 0.1 had no content.
        await files.setMarker(kept.mark, identity);
        return;
      }
      if (!isPostgres(db)) return files.setMarker(identity.id, identity);
      if (kept) await requireMoved(db, files, kept);
      const mark = randomToken(22);
      // Before the row: a marker that the database does not know does no harm, and without the marker no server starts.
      await files.setMarker(mark, identity);
      if (!(await replaceRow(db, kept, { id: 1, mark, location: files.location }))) continue; // another server was first
      if (kept) log.warn(`models and photos lie in ${files.location} from now on, and no more in ${kept.location}`);
      return;
    }
  });
}

/** @returns false if the row is no longer as expected */
async function replaceRow(db: Db, expected: Pick<Kept, 'mark'> | undefined, next: Kept): Promise<boolean> {
  return transaction(db, async (trx) => {
    await advisoryLock(trx, 'asset location');
    const found = await trx.selectFrom('asset_location').select('mark').executeTakeFirst();
    if (found?.mark !== expected?.mark) return false;
    await trx.deleteFrom('asset_location').execute();
    await trx.insertInto('asset_location').values(next).execute();
    return true;
  });
}

/** @throws {ConfigError} where the location carries the marker of another database */
async function requireOwn(files: FileStores, identity: DatabaseIdentity, mark: string | undefined): Promise<void> {
  const markers = await files.markers();
  const others = markers.filter(({ name, owner }) => (owner ? owner.id !== identity.id : name !== mark));
  const [other] = others;
  if (!other) return;
  const owner = other.owner?.name ?? 'a database that an older gen3d did not name';
  const relation = other.name === mark ? `${identity.name} is a copy of it` : `this one is ${identity.name}`;
  const paths = others.map(({ path }) => path).join(' and ');
  throw new ConfigError(
    `The file storage at ${files.location} belongs to another database: ${owner}, and ${relation}. Two databases in one location delete each other's files, so give this one another --assets${isFolder(files) ? ' (and another --data-dir, if they share that)' : ''}. Or, if it takes the other's place for good, stop all servers and workers of the other, delete ${paths}, and start this one again; see "Rehearsing a restore" in docs/operations/backup-and-moving.md`,
  );
}

const isFolder = ({ location }: FileStores) => !isS3Url(location);

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
  if (await asConfigErrors(files, () => files.hasMarker(mark))) return;
  throw new ConfigError(
    `${otherPlace(kept, files)}. Give this worker the --assets of the servers, and where that is a folder their --data-dir too`,
  );
}

function otherPlace({ location }: Pick<Kept, 'location'>, files: FileStores): string {
  const known = `The models and photos of this database lie in ${location}`;
  return location === files.location
    ? `${known}, and this is another place of that name, or an empty one: is its disk mounted?`
    : `${known}, and the settings name ${files.location}`;
}

/** @throws {ConfigError} where the database's place cannot be given up for this one */
async function requireMoved(db: Db, files: FileStores, kept: Pick<Kept, 'location'>): Promise<void> {
  if ((await anyRunner(db, currentTime(db))) || (await anyListener(db))) {
    throw new ConfigError(
      `${otherPlace(kept, files)}. Give this server the --assets of the others, and where that is a folder their --data-dir too; or, to move, stop all servers and workers first (one that was killed counts for up to half a minute), ${howToMove}`,
    );
  }
  const newest = await db
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
    throw new ConfigError(`Cannot use ${location} for models and photos: ${message}`, { cause: error });
  }
}
