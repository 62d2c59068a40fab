import { type Expression, type Kysely, PostgresAdapter, PostgresDialect, sql, type Transaction } from 'kysely';
import pg from 'pg';
import { ConfigError } from '../../base/errors.js';
import { fingerprintOf, keysOf, newKey, rotated, type ServerKeys, textOf } from '../../base/server-key.js';
import type { DatabaseKind, Db, RowLock } from '../../data/db/database.js';
import type { Tables } from '../../data/db/tables.js';
import { advisoryLock } from '../../data/db/transaction.js';
import { connectionPool, isPostgresUrl, isUnencrypted, withoutPassword } from './connections.js';
import { listen, Notifier } from './notifications.js';
import { SharedBucket } from './shared-bucket.js';
import { sharedTables, withSharedTables } from './shared-tables.js';

/** Returns the time of the statement instead of the time of each row, so that indexes can be used. */
const databaseTime = sql<number>`(extract(epoch from statement_timestamp()) * 1000)::bigint`;

/** serialization_failure and deadlock_detected. */
const retryable: ReadonlySet<unknown> = new Set(['40001', '40P01']);

/** Implements databases in PostgreSQL, which the processes of any number of machines use as queue, lock and clock. */
export const postgres: DatabaseKind = {
  name: 'PostgreSQL',
  isShared: true,
  anotherOne: 'database with --database',
  dialect: (url, options) => new KindDialect({ pool: connectionPool(url, options) }),
  describe: (location) => (isPostgresUrl(location) ? withoutPassword(location) : location),
  warningAbout: (url) =>
    isUnencrypted(url)
      ? 'the connection to PostgreSQL on another machine is not encrypted; add ?sslmode=verify-full to its URL, see "TLS to PostgreSQL" in docs/operations/deployment.md'
      : undefined,
  // Any number of servers may use it.
  lockForServing: () => () => {},
  requireOwn: requireNoForeignTables,
  explain: async (error, db, name) =>
    isInsufficientPrivilege(error) ? insufficientPrivilege(db, name, error) : undefined,
  serverKeys: (db, _file, given) => sharedKeys(db, given),
  rotateServerKey: (trx, _file, given) => rotateSharedKey(trx, given),
  identityOf: async (db, url) => ({ id: await idOf(db), name: withoutPassword(url) }),
  // Text is compared byte by byte, which the order of ULIDs and page cursors requires whatever the database's locale.
  define: (statement) => statement.replaceAll(/\btext\b/g, 'text collate "C"'),
  ownStatements: [
    ...sharedTables,
    // Every page of the table leaves free space for new row versions, so PostgreSQL can reuse the space of dead ones
    // without a vacuum. Otherwise, an update moves its row to another page.
    'alter table jobs set (fillfactor = 70)',
  ],
  // Not from `information_schema`, which leaves out what this user may not read.
  schema: `
    select relname || '.' || attname || ' ' || format_type(atttypid, null)
      || case when attnotnull then ' not null' else '' end as item
    from pg_attribute join pg_class on pg_class.oid = attrelid
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and attnum > 0 and not attisdropped
    union all select 'index ' || indexname from pg_indexes where schemaname = current_schema()`,
  now: (): Expression<number> => databaseTime,
  async readTime(db) {
    const { rows } = await sql<{ now: number }>`select ${databaseTime} as now`.execute(db);
    return rows[0]!.now;
  },
  greatest: 'greatest',
  eraseLog: async () => true,
  lockRows(query, lock) {
    const locks: Record<RowLock, () => typeof query> = {
      update: () => query.forUpdate(),
      noKeyUpdate: () => query.forNoKeyUpdate(),
      updateSkipLocked: () => query.forUpdate().skipLocked(),
      keyShare: () => query.forKeyShare(),
    };
    return locks[lock]();
  },
  async advisoryLock(trx, purpose) {
    await sql`select pg_advisory_xact_lock(hashtext(${`gen3d ${purpose}`}))`.execute(trx);
  },
  isRetryable: (error) => error instanceof Error && 'code' in error && retryable.has(error.code),
  wakeup(db, url) {
    const notifier = new Notifier(db);
    return {
      notify: (notification) => notifier.notify(notification),
      listen: (handlers) => listen(url, handlers),
    };
  },
  rateBucket(db, name, limit) {
    const bucket = new SharedBucket(db, name, limit);
    return (reserve) => bucket.take(reserve);
  },
};

class KindDialect extends PostgresDialect {
  override createAdapter(): PostgresAdapter {
    return new KindAdapter();
  }
}

class KindAdapter extends PostgresAdapter {
  readonly kind = postgres;
}

/** Identifies a database by its cluster's identifier and its own oid. */
async function idOf(db: Db): Promise<string> {
  try {
    const { rows } = await sql<{ id: string }>`
      select system_identifier || '/' || oid as id
      from pg_control_system(), pg_database where datname = current_database()`.execute(db);
    return rows[0]!.id;
  } catch (error) {
    if (!isInsufficientPrivilege(error)) throw error;
    // An administrator may have forbidden pg_control_system(). Name and oid are unique within the cluster, but a database
    // in another cluster may have the same ones.
    const { rows } = await sql<{ id: string }>`
      select datname || '/' || oid as id from pg_database where datname = current_database()`.execute(db);
    return rows[0]!.id;
  }
}

/** PostgreSQL's insufficient_privilege, and invalid_schema_name, which it reports for a schema without USAGE. */
const insufficientPrivilegeCodes: ReadonlySet<unknown> = new Set(['42501', '3F000']);

const isInsufficientPrivilege = (error: unknown): error is Error =>
  error instanceof pg.DatabaseError && insufficientPrivilegeCodes.has(error.code);

/** Names the user, the missing privilege and the statements that grant it. */
async function insufficientPrivilege(db: Kysely<Tables>, location: string, error: Error): Promise<ConfigError> {
  const { rows } = await sql<Record<'user' | 'database' | 'schema', string>>`
    select quote_ident(current_user) as user, quote_ident(current_database()) as database,
      quote_ident(coalesce(current_schema(), 'public')) as schema`.execute(db);
  const { user, database, schema } = rows[0] ?? { user: 'gen3d', database: 'gen3d', schema: 'public' };
  const inSchema = /schema/.test(error.message);
  const action = inSchema ? `create tables in the schema ${schema} of ${location}` : `use the tables in ${location}`;
  const statements = inSchema
    ? `ALTER DATABASE ${database} OWNER TO ${user}; or, if others use the database too: GRANT USAGE, CREATE ON SCHEMA ${schema} TO ${user};`
    : `GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO ${user}; or connect as the owner of the tables`;
  return new ConfigError(
    `The user ${user} may not ${action} (${error.message}). Ask an administrator to run in that database: ${statements}`,
    { cause: error },
  );
}

/** @throws {ConfigError} if the PostgreSQL schema has another program's tables and none of ours */
export async function requireNoForeignTables(db: Kysely<Tables>, location: string): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')
      and not exists (select 1 from pg_depend where objid = pg_class.oid and deptype = 'e')
    order by relname`.execute(db);
  const names = rows.map(({ name }) => name);
  if (names.length === 0 || names.includes('kysely_migration')) return;
  const some = names.slice(0, 3).join(', ') + (names.length > 3 ? ', ...' : '');
  throw new ConfigError(
    `${location} contains tables of another program (${some}). Use an empty database, for example one made with \`createdb\``,
  );
}

/**
 * Returns the keys that all servers of a PostgreSQL database share: those in their settings, or else random ones that
 * the database stores. The database also stores a fingerprint of the current key. A server without that key does not
 * start, because it would issue API keys that no other server accepts, and could not decrypt the webhook secrets.
 * @throws {ConfigError} if the settings lack the database's key
 */
export async function sharedKeys(db: Db, given?: string): Promise<ServerKeys> {
  const offered = given === undefined ? [newKey()] : keysOf(given);
  const fingerprints = offered.map(fingerprintOf);
  const tables = withSharedTables(db);
  await tables
    .insertInto('server_key')
    .values({
      id: 1,
      key: given === undefined ? textOf(offered) : null,
      fingerprint: fingerprints[0] as string,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const stored = await tables.selectFrom('server_key').selectAll().executeTakeFirstOrThrow();
  if (given === undefined) {
    if (stored.key !== null) return keysOf(stored.key);
    throw new ConfigError('This database was set up with GEN3D_SERVER_KEY. Give this server the same key');
  }
  if (!fingerprints.includes(stored.fingerprint)) {
    throw new ConfigError(
      'GEN3D_SERVER_KEY is not the key that this database was set up with. Give all its servers the same key',
    );
  }
  return offered;
}

/** Makes a new key the current one: a random one, or the first in the settings. */
async function rotateSharedKey(trx: Transaction<Tables>, given?: string): Promise<void> {
  await advisoryLock(trx, 'rotate server key');
  const tables = withSharedTables(trx);
  const { key } = await tables.selectFrom('server_key').select('key').executeTakeFirstOrThrow();
  const keys = key === null ? keysOf(given as string) : rotated(keysOf(key));
  await tables
    .updateTable('server_key')
    .set({ key: key === null ? null : textOf(keys), fingerprint: fingerprintOf(keys[0] as Buffer) })
    .execute();
}
