import { createRequire } from 'node:module';
import { loadProblem, NativePartError } from '@gen3d/engine/bundles';
import type BetterSqlite from 'better-sqlite3';
import { ConfigError } from '../../base/errors.js';
import { loadNodeSqlite, type NodeDatabase, type NodeSqlite, type NodeStatement } from './node-sqlite.js';

/** A connection to a SQLite file: the part of SQLite that gen3d uses. */
export interface SqliteConnection {
  readonly inTransaction: boolean;
  /** Runs statements without parameters, and discards their rows. */
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  close(): void;
}

export interface SqliteStatement {
  /** True if the statement changes nothing, so that it can run while another process writes. */
  readonly isRead: boolean;
  /** Empty if the statement returns no rows. */
  readonly columns: readonly string[];
  /** Returns the rows as arrays, in the order of `columns`. */
  all(parameters: readonly unknown[]): unknown[][];
  iterate(parameters: readonly unknown[]): Iterable<unknown[]>;
  /** Runs a statement that returns no rows. */
  run(parameters: readonly unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint };
}

export interface SqliteOptions {
  /** How long a statement blocks the thread while another process holds a lock. */
  busyTimeoutMs: number;
  /** Opens the file for reading only. Fails if it does not exist. */
  readonly?: boolean;
}

/** A library that opens SQLite files. */
export interface SqliteLibrary {
  /** The driver and its version, for example `better-sqlite3 12.11.1`. */
  readonly name: string;
  /** The version of SQLite itself. */
  readonly version: string;
  open(path: string, options: SqliteOptions): SqliteConnection;
}

let library: SqliteLibrary | undefined;

/**
 * Loads the SQLite of this process: better-sqlite3, or Node's own if that cannot be loaded.
 * @throws {NativePartError} if neither can be loaded; the message says why, and what to do
 */
export function sqliteLibrary(): SqliteLibrary {
  library ??= load();
  return library;
}

/** @throws {NativePartError} if this machine has no SQLite; an error with a code such as `SQLITE_CANTOPEN` otherwise */
export const openSqlite = (path: string, options: SqliteOptions): SqliteConnection =>
  sqliteLibrary().open(path, options);

/** Recognizes an error of SQLite. Its code starts with the name of SQLite's result code, such as `SQLITE_BUSY`. */
export const isSqliteError = (error: unknown): error is Error & { code: string } =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_');

/** Whether SQLite, or the file system, does not let this process write a file. */
export const isNotWritable = (error: unknown): boolean =>
  (isSqliteError(error) && /^SQLITE_(READONLY|CANTOPEN)/.test(error.code)) ||
  (error instanceof Error && 'code' in error && ['EACCES', 'EPERM', 'EROFS'].includes(String(error.code)));

/** The file system fails, or lacks the locks or the shared memory that SQLite needs. */
export const isUnsuitable = (error: unknown): boolean =>
  isSqliteError(error) && /^SQLITE_(IOERR|PROTOCOL)/.test(error.code);

export const notWritable = (path: string, cause: unknown): ConfigError =>
  new ConfigError(
    `${path} cannot be opened for writing. Check that this user owns the file and its folder, and that the disk is not mounted read-only, or choose another data directory with --data-dir`,
    { cause },
  );

export const isBusy = (error: unknown): boolean => isSqliteError(error) && error.code.startsWith('SQLITE_BUSY');

/** The file is not a SQLite database, or a part of it that was read is damaged. */
export const isDamage = (error: unknown): boolean =>
  isSqliteError(error) && /^SQLITE_(NOTADB|CORRUPT)/.test(error.code);

function load(): SqliteLibrary {
  try {
    return betterSqlite();
  } catch (cause) {
    const node = loadNodeSqlite();
    if (node) return nodeLibrary(node);
    throw missingSqlite(cause);
  }
}

const missingSqlite = (cause: unknown) =>
  new NativePartError(
    `SQLite cannot be loaded. Update Node to 22.16 or later, which has its own, or repair better-sqlite3: ${loadProblem('better-sqlite3', cause)}`,
    { cause },
  );

function betterSqlite(): SqliteLibrary {
  const require = createRequire(import.meta.url);
  const Database = require('better-sqlite3') as typeof BetterSqlite;
  // The addon is loaded by the first database, not by `require`.
  const probe = new Database(':memory:');
  const version = probe.prepare<[], string>('select sqlite_version()').pluck().get() ?? '';
  probe.close();
  const { version: release } = require('better-sqlite3/package.json') as { version: string };
  return {
    name: `better-sqlite3 ${release}`,
    version,
    open: (path, { busyTimeoutMs, readonly = false }) =>
      new BetterConnection(new Database(path, { timeout: busyTimeoutMs, readonly })),
  };
}

class BetterConnection implements SqliteConnection {
  readonly #database: BetterSqlite.Database;

  constructor(database: BetterSqlite.Database) {
    this.#database = database;
  }

  get inTransaction(): boolean {
    return this.#database.inTransaction;
  }

  exec(sql: string): void {
    this.#database.exec(sql);
  }

  prepare(sql: string): SqliteStatement {
    const statement = this.#database.prepare<unknown[], unknown[]>(sql);
    if (statement.reader) statement.raw();
    return {
      isRead: statement.readonly,
      columns: statement.reader ? statement.columns().map(({ name }) => name) : [],
      all: (parameters) => statement.all(parameters),
      iterate: (parameters) => statement.iterate(parameters),
      run: (parameters) => statement.run(parameters),
    };
  }

  close(): void {
    this.#database.close();
  }
}

const nodeLibrary = (node: NodeSqlite): SqliteLibrary => ({
  name: `Node ${process.versions.node}`,
  version: process.versions.sqlite ?? '',
  open: (path, { busyTimeoutMs, readonly = false }) =>
    new NodeConnection(withCodes(() => new node.DatabaseSync(path, { timeout: busyTimeoutMs, readOnly: readonly }))),
});

class NodeConnection implements SqliteConnection {
  readonly #database: NodeDatabase;

  constructor(database: NodeDatabase) {
    this.#database = database;
  }

  get inTransaction(): boolean {
    return this.#database.isTransaction;
  }

  exec(sql: string): void {
    withCodes(() => this.#database.exec(sql));
  }

  prepare(sql: string): SqliteStatement {
    const statement = withCodes(() => this.#database.prepare(sql));
    statement.setReturnArrays(true);
    return {
      // Node does not report it. A read that starts with another word, such as `with`, takes its turn among the writes.
      isRead: /^\s*select\b/i.test(sql),
      columns: statement.columns().map(({ name }) => name),
      all: (parameters) => withCodes(() => statement.all(...parameters)),
      iterate: (parameters) => iterate(statement, parameters),
      run: (parameters) => withCodes(() => statement.run(...parameters)),
    };
  }

  close(): void {
    this.#database.close();
  }
}

function* iterate(statement: NodeStatement, parameters: readonly unknown[]): Iterable<unknown[]> {
  const rows = withCodes(() => statement.iterate(...parameters));
  for (let next = withCodes(() => rows.next()); !next.done; next = withCodes(() => rows.next())) yield next.value;
}

/** Names the codes of errors that gen3d distinguishes. https://www.sqlite.org/rescode.html */
const codes: Readonly<Record<number, string>> = {
  5: 'SQLITE_BUSY',
  8: 'SQLITE_READONLY',
  11: 'SQLITE_CORRUPT',
  13: 'SQLITE_FULL',
  14: 'SQLITE_CANTOPEN',
  26: 'SQLITE_NOTADB',
  4874: 'SQLITE_IOERR_SHMSIZE',
};

/** Gives errors of Node's SQLite the codes of better-sqlite3. The low byte of an extended code is the primary one. */
function withCodes<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof Error && 'errcode' in error) {
      const extended = Number(error.errcode);
      Object.assign(error, { code: codes[extended] ?? codes[extended & 0xff] ?? 'SQLITE_ERROR' });
    }
    throw error;
  }
}
