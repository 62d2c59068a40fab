import { type Expression, PostgresAdapter, PostgresDialect, sql } from 'kysely';
import type { DatabaseKind, RowLock } from '../../data/db/database.js';
import { connectionPool } from './connections.js';
import { listen, Notifier } from './notifications.js';
import { SharedBucket } from './shared-bucket.js';
import { sharedTables } from './shared-tables.js';

/** Returns the time of the statement instead of the time of each row, so that indexes can be used. */
const databaseTime = sql<number>`(extract(epoch from statement_timestamp()) * 1000)::bigint`;

/** serialization_failure and deadlock_detected. */
const retryable: ReadonlySet<unknown> = new Set(['40001', '40P01']);

/** Implements databases in PostgreSQL, which the processes of any number of machines use as queue, lock and clock. */
export const postgres: DatabaseKind = {
  name: 'PostgreSQL',
  isShared: true,
  dialect: (url, options) => new KindDialect({ pool: connectionPool(url, options) }),
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
      -- Tables of extensions, such as PostGIS, do not count.
      and not exists (select 1 from pg_depend where objid = pg_class.oid and deptype = 'e')
    union all select 'index ' || indexname from pg_indexes where schemaname = current_schema()`,
  now: (): Expression<number> => databaseTime,
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
    return (overdraft) => bucket.take(overdraft);
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
