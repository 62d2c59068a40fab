import type { PostgresPool, PostgresPoolClient } from 'kysely';
import pg from 'pg';
import { ConfigError, errorMessage } from '../../base/errors.js';
import type { DatabaseOptions } from '../../data/db/database.js';
import { DatabaseUnavailableError, Outage } from '../../data/db/unavailable.js';

const connectTimeoutMs = 5_000;
/** Our statements take milliseconds. After this long without a response, the connection counts as lost. */
const queryTimeoutMs = 30_000;
/** The server cancels a statement before the client gives up, because a client that stops waiting does not end it. */
const statementTimeoutMs = 20_000;
/** Releases the locks of a process that was stopped or disconnected during a transaction. */
const idleInTransactionMs = 10_000;
const keptIdleMs = 60_000;

/** Parsed as numbers: our values are milliseconds, millionths of a dollar and counts, all below 2^53. */
const numericTypes: ReadonlySet<number> = new Set([pg.types.builtins.INT8, pg.types.builtins.NUMERIC]);

export const isPostgresUrl = (location: string): boolean => /^postgres(ql)?:\/\//.test(location);

/**
 * Rejects a password that is not percent-encoded: a / in it would end the host early.
 * @throws {ConfigError} that quotes no part of the URL, since any part may be the password
 */
function requireEncoded(url: string): string {
  const { pathname, search, hash } = new URL(url);
  if ((pathname + search + hash).includes('@')) {
    throw new ConfigError(
      'The URL of the PostgreSQL database has an @ after its host. Percent-encode special characters in the user and password: / as %2F, @ as %40, ? as %3F, # as %23',
    );
  }
  return url;
}

/** Returns a URL without password and parameters, for messages and logs. @throws {ConfigError} like `connectionOf` */
export function withoutPassword(url: string): string {
  const { protocol, username, host, pathname } = new URL(requireEncoded(url));
  return `${protocol}//${username ? `${username}@` : ''}${host}${pathname}`;
}

/** True if the connection goes to another machine without TLS. */
export function isUnencrypted(url: string): boolean {
  // Also reads PGSSLMODE and PGHOST.
  const { host, ssl } = new pg.Client(connectionOf(url));
  return !ssl && !/^(\/|localhost$|127\.|\[?::1\]?$)/.test(host);
}

/** Says how to connect, for the pool and separate connections. @throws {ConfigError} if the password is not encoded */
export const connectionOf = (url: string): pg.ClientConfig => ({
  connectionString: requireEncoded(url),
  application_name: 'gen3d',
  connectionTimeoutMillis: connectTimeoutMs,
  // Detects a lost connection while it is idle, before its next use.
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
});

/** Connections of pg, opened on first use, and again after an outage. */
export function connectionPool(
  url: string,
  { connections = 10, withoutTimeout = false, log }: DatabaseOptions,
): PostgresPool {
  const pool = new pg.Pool({
    ...connectionOf(url),
    Client: SocketClosingClient,
    max: connections,
    idleTimeoutMillis: keptIdleMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    ...(withoutTimeout ? {} : { query_timeout: queryTimeoutMs, statement_timeout: statementTimeoutMs }),
    types: {
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        numericTypes.has(oid) ? Number : pg.types.getTypeParser(oid, format as 'text'),
    },
  });
  // The pool has already removed the broken connection, and a query that used it rejects.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return new ErrorMappingPool(pool, log && new Outage(log));
}

/** Closes the socket if the login fails, for example without a password. pg leaves it open, which keeps the process. */
class SocketClosingClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config);
    const { connection } = this as unknown as { connection: pg.Connection };
    connection.on('error', () => connection.stream.destroy());
  }
}

/** Throws `DatabaseUnavailableError` for lost connections, and removes them from the pool. */
class ErrorMappingPool implements PostgresPool {
  readonly #pool: pg.Pool;
  readonly #outage: Outage | undefined;

  constructor(pool: pg.Pool, outage: Outage | undefined) {
    this.#pool = pool;
    this.#outage = outage;
  }

  async connect(): Promise<PostgresPoolClient> {
    const client = await this.#pool.connect().catch((cause: unknown) => {
      const error = new DatabaseUnavailableError(`No connection to PostgreSQL: ${reason(cause)}`, { cause });
      this.#outage?.failed(error);
      throw error;
    });
    return errorMappingClient(client, this.#outage);
  }

  end(): Promise<void> {
    return this.#pool.end();
  }
}

function errorMappingClient(client: pg.PoolClient, outage: Outage | undefined): PostgresPoolClient {
  let lost: DatabaseUnavailableError | undefined;
  const query = async (sql: string, parameters: readonly unknown[]) => {
    // The rollback after a lost connection must not hide why it was lost.
    if (lost) throw lost;
    try {
      const result = await client.query(sql, parameters.map(storable));
      outage?.succeeded();
      return result;
    } catch (cause) {
      if (!isConnectionLoss(cause)) throw cause;
      lost = new DatabaseUnavailableError(`The connection to PostgreSQL was lost: ${reason(cause)}`, { cause });
      outage?.failed(lost);
      throw lost;
    }
  };
  return {
    // Kysely's interface also includes cursors, which it uses only if configured.
    query: query as unknown as PostgresPoolClient['query'],
    release: () => client.release(lost !== undefined),
  };
}

/** Replaces U+0000, which PostgreSQL's text cannot contain, with its symbol ␀. */
export const storable = (value: unknown): unknown =>
  typeof value === 'string' ? value.replaceAll('\0', '\u2400') : value;

/**
 * Codes of a server that cannot serve for now: shut down by its operator or crashed, starting, out of connections, in
 * recovery; of idle_in_transaction_session_timeout, after the process was stopped; and of statement_timeout.
 */
const unavailableCodes: ReadonlySet<string> = new Set([
  ...['57P01', '57P02', '57P03', '53300', '25006', '25P03'],
  '57014',
]);

function isConnectionLoss(error: unknown): boolean {
  // An error that the server did not report comes from the connection.
  if (!(error instanceof pg.DatabaseError)) return true;
  return error.code !== undefined && (unavailableCodes.has(error.code) || error.code.startsWith('08'));
}

/** PostgreSQL's insufficient_privilege, and invalid_schema_name, which it reports for a schema without USAGE. */
const insufficientPrivilegeCodes: ReadonlySet<unknown> = new Set(['42501', '3F000']);

export const isInsufficientPrivilege = (error: unknown): error is Error =>
  error instanceof pg.DatabaseError && insufficientPrivilegeCodes.has(error.code);

/** Finds the reason for an error. If a host's addresses have all failed, the AggregateError has no message. */
function reason(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reason).join('; ');
  const message = errorMessage(error);
  // pg's message for a missing password names a step of the protocol. The error has no code.
  return /client password must be a (non-empty )?string/.test(message)
    ? 'no password was given; put it into the URL or set PGPASSWORD'
    : message;
}
