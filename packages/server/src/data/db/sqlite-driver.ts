import { setTimeout as pause } from 'node:timers/promises';
import { CompiledQuery, type DatabaseConnection, type Driver, type QueryResult } from 'kysely';
import type { LogSync } from './log-sync.js';
import { isBusy, isDamage, type SqliteConnection } from './sqlite-connection.js';
import { DatabaseLockedError, type Outage } from './unavailable.js';

/** Compiled statements to keep. The code has far fewer; this only bounds `in (…)` lists of varying length. */
const maxStatements = 500;
/** How long a statement or a transaction waits while another process writes. */
const lockTimeoutMs = 5_000;
/** Pauses between attempts, similar to SQLite's own busy handler. The last one repeats. */
const pausesMs = [1, 2, 5, 10, 15, 20, 25] as const;

const begin = CompiledQuery.raw('begin immediate');
const commit = CompiledQuery.raw('commit');
const rollback = CompiledQuery.raw('rollback');

interface Statement {
  /** Reads can run while another process writes. */
  isRead: boolean;
  run(parameters: readonly unknown[]): QueryResult<unknown>;
}

/**
 * Drives a SQLite file that several processes write, over one connection with a busy timeout of 0.
 *
 * SQLite's own busy handler would block the event loop. This driver waits with timers for up to 5 s, then throws a
 * `DatabaseLockedError`. Meanwhile, writes of this process queue up in order; reads do not wait. A write resolves when
 * it is on the disk, but the next one begins before.
 */
export class SqliteWalDriver implements Driver {
  readonly #database: SqliteConnection;
  readonly #log: LogSync;
  readonly #outage: Outage | undefined;
  readonly #reportDamage: ((error: unknown) => void) | undefined;
  readonly #statements = new Map<string, Statement>();
  /** Kysely holds a weak reference to every connection, so a new one for each query would burden garbage collection. */
  readonly #idle: Connection[] = [];
  /** Resolves when the last queued write has ended. */
  #lastWrite: Promise<void> = Promise.resolve();
  /** Resolves when the open transaction of this process has ended. */
  #openTransaction: Promise<void> | undefined;

  /** `reportDamage` receives the errors of statements that read a damaged page. */
  constructor(database: SqliteConnection, log: LogSync, outage?: Outage, reportDamage?: (error: unknown) => void) {
    this.#database = database;
    this.#log = log;
    this.#outage = outage;
    this.#reportDamage = reportDamage;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<Connection> {
    return this.#idle.pop() ?? new Connection((query) => this.#execute(query));
  }

  async releaseConnection(connection: Connection): Promise<void> {
    this.#idle.push(connection);
  }

  /** Begins an immediate transaction: a deferred one that reads, then writes, can fail with SQLITE_BUSY at once. */
  async beginTransaction(connection: Connection): Promise<void> {
    const endWrite = await this.#write(() => this.#run(begin));
    let endTransaction = () => {};
    this.#openTransaction = new Promise((resolve) => {
      endTransaction = resolve;
    });
    const execute = connection.execute;
    connection.execute = async (query) => this.#run(query);
    connection.endTransaction = () => {
      connection.execute = execute;
      connection.endTransaction = undefined;
      this.#openTransaction = undefined;
      // Lets waiting reads run first, so that they run between two transactions.
      endTransaction();
      endWrite();
    };
  }

  async commitTransaction(connection: Connection): Promise<void> {
    // Kysely rolls back if this throws.
    this.#run(commit);
    connection.endTransaction?.();
    await this.#log.synced();
  }

  async rollbackTransaction(connection: Connection): Promise<void> {
    // After a failed sync, the transaction has been committed, and the next one may have begun.
    if (!connection.endTransaction) return;
    try {
      // After a full disk, SQLite has already rolled back; a second rollback would hide that error.
      if (this.#database.inTransaction) this.#run(rollback);
    } finally {
      connection.endTransaction();
    }
  }

  async destroy(): Promise<void> {
    await this.#log.close();
    this.#database.close();
  }

  async #execute(query: CompiledQuery): Promise<QueryResult<unknown>> {
    const deadline = performance.now() + lockTimeoutMs;
    if (await whileBusy(() => this.#prepare(query.sql).isRead, deadline)) return this.#read(query, deadline);
    let result: QueryResult<unknown> = { rows: [] };
    const endWrite = await this.#write(() => {
      result = this.#run(query);
    });
    endWrite();
    await this.#log.synced();
    return result;
  }

  /** Waits for the open transaction: on this connection, a read would see its uncommitted changes. */
  #read(query: CompiledQuery, deadline: number): Promise<QueryResult<unknown>> {
    return whileBusy(async () => {
      while (this.#openTransaction) await this.#openTransaction;
      return this.#run(query);
    }, deadline);
  }

  /** Runs `statement` after all earlier writes. Resolves with a function that lets the next write run. */
  async #write(statement: () => void): Promise<() => void> {
    const deadline = performance.now() + lockTimeoutMs;
    const before = this.#lastWrite;
    let end = () => {};
    this.#lastWrite = new Promise((resolve) => {
      end = resolve;
    });
    await before;
    try {
      await whileBusy(statement, deadline);
    } catch (error) {
      end();
      if (error instanceof DatabaseLockedError) this.#outage?.failed(error);
      throw error;
    }
    this.#outage?.succeeded();
    return end;
  }

  #run({ sql, parameters }: CompiledQuery): QueryResult<unknown> {
    try {
      return this.#prepare(sql).run(parameters);
    } catch (error) {
      if (isDamage(error)) this.#reportDamage?.(error);
      throw error;
    }
  }

  /** Keeps compiled statements, which halves the time of a short read. */
  #prepare(sql: string): Statement {
    let statement = this.#statements.get(sql);
    if (!statement) {
      if (this.#statements.size >= maxStatements) this.#statements.clear();
      statement = prepared(this.#database, sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** Gives Kysely the single connection. Outside a transaction, each statement is independent. */
class Connection implements DatabaseConnection {
  execute: (query: CompiledQuery) => Promise<QueryResult<unknown>>;
  /** Undefined outside a transaction. */
  endTransaction: (() => void) | undefined;

  constructor(execute: (query: CompiledQuery) => Promise<QueryResult<unknown>>) {
    this.execute = execute;
  }

  executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    return this.execute(query) as Promise<QueryResult<R>>;
  }

  // biome-ignore lint/correctness/useYield: this driver does not stream
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('This driver does not stream');
  }
}

/** Retries `work` while another process holds the lock. @throws {DatabaseLockedError} after the deadline */
async function whileBusy<T>(work: () => T | Promise<T>, deadline: number): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (performance.now() >= deadline) {
        throw new DatabaseLockedError('Another process has locked the database for too long', { cause: error });
      }
    }
    await pause(pausesMs[Math.min(tries, pausesMs.length - 1)]);
  }
}

function prepared(database: SqliteConnection, sql: string): Statement {
  const statement = database.prepare<unknown[], unknown[]>(sql);
  const isRead = statement.readonly;
  if (!statement.reader) {
    const run = (parameters: readonly unknown[]) => {
      const { changes, lastInsertRowid } = statement.run(parameters);
      return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
    };
    return { isRead, run };
  }
  // Reading rows as arrays and building the objects here takes a third less time than better-sqlite3's own objects.
  const columns = statement
    .raw()
    .columns()
    .map(({ name }) => name);
  const toRow = (values: unknown[]) => {
    const row: Record<string, unknown> = {};
    for (let index = 0; index < columns.length; index += 1) row[columns[index]!] = values[index];
    return row;
  };
  return { isRead, run: (parameters) => ({ rows: statement.all(parameters).map(toRow) }) };
}
