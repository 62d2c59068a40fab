import type { Dialect, Expression, Kysely, QueryExecutorProvider, SelectQueryBuilder, Transaction } from 'kysely';
import type { Logger } from 'pino';
import type { Tables } from './tables.js';

/**
 * Declares the SQL that each kind of database has in its own way. The core has SQLite (sqlite.ts), cluster/ has
 * PostgreSQL. Everything else in data/ is written once, in the SQL that both understand; database.test.ts and all tests
 * of data/ run on every kind. Checks at the start, and words for operators, do not belong here: see `StoreEdges`.
 *
 * Guarantees of each kind:
 * - What a transaction has committed survives a crash of this process, of the database and of the machine.
 * - After waiting for `lockRows` or `advisoryLock`, a transaction sees what the previous holder of the lock committed.
 * - Processes of one database share one clock, `now`, because leases are compared on it.
 * - A statement that failed because the database is away, or locked for too long, throws `DatabaseUnavailableError`.
 *   Trying again later may succeed. Whether a transaction was committed is then unknown, except for `DatabaseLockedError`.
 * - After any other error, nothing of the transaction is stored.
 */
export interface DatabaseKind {
  readonly name: string;
  /** Whether processes on several machines can use one database. Of the others, one server at a time uses each. */
  readonly isShared: boolean;
  /** Opens the database, which exists or is created. @throws {ConfigError} if the location cannot be used */
  dialect(location: string, options: DatabaseOptions): Dialect;

  // Schema

  /** Translates a statement that defines a table in SQLite's types. */
  define(statement: string): string;
  /** Statements of the first migration that only this kind runs, after the common ones. */
  readonly ownStatements: readonly string[];
  /** A query for one column `item`: `TABLE.COLUMN TYPE[ not null]` for each column, and `index NAME` for each index. */
  readonly schema: string;

  // Queries

  /** Returns the time in milliseconds since 1970, as a number or as an expression that the database evaluates. */
  now(): number | Expression<number>;
  lockRows<TB extends keyof Tables, O>(
    query: SelectQueryBuilder<Tables, TB, O>,
    lock: RowLock,
  ): SelectQueryBuilder<Tables, TB, O>;
  /** Lets one transaction at a time proceed, where no row exists yet that could be locked. */
  advisoryLock(trx: Queryable, purpose: string): Promise<void>;
  /** True if the transaction was rolled back because of another one, and can be run again. */
  isRetryable(error: unknown): boolean;

  // Several processes

  wakeup(db: Db, location: string): Wakeup;
  /**
   * Opens a token bucket that all servers of the database share. Its function takes a token and resolves with 0, or
   * resolves with the seconds until there is one; the bucket may owe `overdraft`. Absent if there is one server, which
   * counts in its memory.
   */
  rateBucket?(db: Db, name: BucketName, limit: RateLimit): (overdraft: number) => Promise<number>;
}

export type Db = Kysely<Tables>;
/** Functions with this parameter accept the database, or a transaction. */
export type Queryable = Db | Transaction<Tables>;

/** Locks of a row; transaction.ts explains them. */
export type RowLock = 'update' | 'noKeyUpdate' | 'updateSkipLocked' | 'keyShare';

export interface DatabaseOptions {
  /** Maximum number of connections. Default: 10. */
  connections?: number;
  /** No timeout for statements, as a migration needs. */
  withoutTimeout?: boolean;
  /** Receives the start and the end of each outage. */
  log?: Logger | undefined;
}

/** Something happened that another process may be waiting for. */
export type Notification = 'job_waiting' | 'job_canceled' | 'event_recorded';

/** Wakes the other processes of the database, without a guarantee: they also poll. */
export interface Wakeup {
  /** Never fails. Resolves when the notification is sent. */
  notify(notification: Notification): Promise<void>;
  /** Calls the handlers for the notifications of other processes, until the returned function is called. */
  listen(handlers: Partial<Record<Notification, () => void>>): () => Promise<void>;
}

/** The API, the public test key, and the dashboard each have buckets of their own. */
export type BucketName = 'api' | 'sandbox' | 'dashboard';

export interface RateLimit {
  perSecond: number;
  burst: number;
}

/** The debt of a bucket lapses after this time without a taken token: the callers who should repay it are gone. */
export const debtMs = 1_000;

/** Returns the kind of a database. Its dialect's adapter has the kind as a property, which transactions share. */
export const kindOf = (db: QueryExecutorProvider): DatabaseKind =>
  (db.getExecutor().adapter as unknown as { kind: DatabaseKind }).kind;
