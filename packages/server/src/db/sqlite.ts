import { closeSync, openSync } from 'node:fs';
import Database from 'better-sqlite3';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDialect,
  SqliteDriver,
  type SqliteStatement,
} from 'kysely';
import { ConfigError } from '../config.js';

/** Statements kept compiled; the code has far fewer, so this only bounds lists of varying length in `in (…)`. */
const maxStatements = 500;

/**
 * The SQLite dialect over better-sqlite3, for a database that several processes write.
 *
 * Durable: WAL with synchronous=FULL, so a commit that was answered survives kill -9 and a power cut.
 * Waits up to 5 s for another process's transaction; ours are a few statements and never span anything but queries.
 *
 * @throws {ConfigError} if the file is no database, is damaged, or is held by a process that lets nobody else in
 */
export function sqliteDialect(path: string): SqliteDialect {
  makePrivate(path);
  const database = new Database(path, { timeout: 5_000 });
  try {
    database.pragma('journal_mode = WAL');
    database.pragma('synchronous = FULL');
    database.pragma('foreign_keys = ON');
    // In KiB. Of a million jobs, the default 2 MB hold little more than the tops of the indexes.
    database.pragma('cache_size = -16384');
  } catch (error) {
    database.close();
    if (isDamage(error)) throw damaged(path, error);
    if (isBusy(error)) {
      throw new ConfigError(
        `${path} is in use by a command that lets nobody else in, such as \`gen3d admin migrate-to\`: wait for its end`,
        { cause: error },
      );
    }
    throw error;
  }
  return new WalDialect(database);
}

/** SQLite would make it readable for everybody. Its -wal and -shm files get the mode of the database. */
function makePrivate(path: string): void {
  try {
    // `wx` opens no file that is there: closing one would drop the locks that this process holds on it by SQLite.
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

export const isDamage = (error: unknown): boolean =>
  error instanceof Database.SqliteError && /^SQLITE_(NOTADB|CORRUPT)/.test(error.code);

export const isBusy = (error: unknown): boolean =>
  error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY');

export const damaged = (path: string, cause: unknown): ConfigError =>
  new ConfigError(
    `${path} is damaged, or is no database of gen3d: put a backup in its place, or choose another data directory with --data-dir`,
    { cause },
  );

class WalDialect extends SqliteDialect {
  readonly #database: Database.Database;

  constructor(database: Database.Database) {
    super({ database });
    this.#database = database;
  }

  override createDriver(): Driver {
    return new WalDriver(this.#database);
  }

  override createAdapter(): SqliteAdapter {
    return new TransactionalDdlAdapter();
  }
}

/** Kysely compiles a statement on every call; better-sqlite3 can keep it, which halves the time of a short read. */
function keepingStatements(database: Database.Database): SqliteDatabase {
  const statements = new Map<string, SqliteStatement>();
  return {
    prepare(sql) {
      let statement = statements.get(sql);
      if (!statement) {
        if (statements.size >= maxStatements) statements.clear();
        statement = withRows(database.prepare(sql));
        statements.set(sql, statement);
      }
      return statement;
    },
    close: () => void database.close(),
  };
}

/** Rows are fetched as lists and become objects here, which takes a third less time than better-sqlite3's own objects. */
function withRows(statement: Database.Statement<unknown[], unknown[]>): SqliteStatement {
  if (!statement.reader) return statement;
  const columns = statement.columns().map(({ name }) => name);
  const toRow = (values: unknown[]) => {
    const row: Record<string, unknown> = {};
    for (let index = 0; index < columns.length; index += 1) row[columns[index]!] = values[index];
    return row;
  };
  statement.raw();
  return {
    reader: true,
    all: (parameters) => statement.all(parameters).map(toRow),
    run: (parameters) => statement.run(parameters),
    *iterate(parameters) {
      for (const values of statement.iterate(parameters)) yield toRow(values);
    },
  };
}

class WalDriver extends SqliteDriver {
  readonly #database: Database.Database;

  constructor(database: Database.Database) {
    super({ database: keepingStatements(database) });
    this.#database = database;
  }

  /** A deferred transaction that reads and then writes can fail at once with SQLITE_BUSY; an immediate one waits. */
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'));
  }

  /** SQLite has already rolled back by itself after a full disk; a second rollback would hide that error. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#database.inTransaction) await connection.executeQuery(CompiledQuery.raw('rollback'));
  }
}

/** SQLite's DDL is transactional; kysely only says otherwise. With it, two processes that migrate at once take turns. */
class TransactionalDdlAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}
