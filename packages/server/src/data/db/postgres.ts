import { type Dialect, PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely';
import pg from 'pg';
import type { Logger } from 'pino';
import { ConfigError } from '../../base/errors.js';
import { Outage } from './outage.js';
import { DatabaseUnavailableError } from './unavailable.js';

const connectTimeoutMs = 5_000;
/** Our statements take milliseconds: one without an answer for so long was cut off from the server. */
const queryTimeoutMs = 30_000;
/** A process that was stopped or cut off in the middle of a transaction shall not keep its locks. */
const idleInTransactionMs = 10_000;
const keptIdleMs = 60_000;

/** Ours are milliseconds, millionths of a dollar and counts, all of them below 2^53. */
const numbers: ReadonlySet<number> = new Set([pg.types.builtins.INT8, pg.types.builtins.NUMERIC]);

export interface PostgresOptions {
  /** Connections at most, 10 unless told. */
  connections?: number;
  /** For a statement that may take as long as it needs, such as a migration. */
  patient?: boolean;
  /** Hears when the database goes away and when it is back. */
  log?: Logger | undefined;
}

export const isPostgresUrl = (location: string): boolean => /^postgres(ql)?:\/\//.test(location);

/**
 * A password with a / in it ends the host too early, and what is behind it would pass for host and database.
 * @throws {ConfigError} without a part of the URL, since any may be of the password
 */
function encoded(url: string): string {
  const { pathname, search, hash } = new URL(url);
  if ((pathname + search + hash).includes('@')) {
    throw new ConfigError(
      'The URL of the PostgreSQL database has an @ behind its host. In user and password, special characters must be percent-encoded: / as %2F, @ as %40, ? as %3F, # as %23',
    );
  }
  return url;
}

/** A connection URL without its password and parameters, for people and logs. @throws {ConfigError} as `connectionOf` */
export function withoutPassword(url: string): string {
  const { protocol, username, host, pathname } = new URL(encoded(url));
  return `${protocol}//${username ? `${username}@` : ''}${host}${pathname}`;
}

/** Whether the traffic to the database can be read in transit: it is on another machine, and TLS is not used. */
export function isReadableOnTheWay(url: string): boolean {
  // Also reads PGSSLMODE and PGHOST.
  const { host, ssl } = new pg.Client(connectionOf(url));
  return !ssl && !/^(\/|localhost$|127\.|\[?::1\]?$)/.test(host);
}

/** How to connect, for the pool and for a connection of its own. @throws {ConfigError} for a password that is not percent-encoded */
export const connectionOf = (url: string): pg.ClientConfig => ({
  connectionString: encoded(url),
  application_name: 'gen3d',
  connectionTimeoutMillis: connectTimeoutMs,
  // An idle connection whose other end is gone is noticed, and not only by the next one to use it.
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
});

/** The PostgreSQL dialect over pg. Connects when first used, and again after the server was away. */
export function postgresDialect(url: string, { connections = 10, patient = false, log }: PostgresOptions): Dialect {
  const pool = new pg.Pool({
    ...connectionOf(url),
    Client: HangingUpClient,
    max: connections,
    idleTimeoutMillis: keptIdleMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    ...(patient ? {} : { query_timeout: queryTimeoutMs }),
    types: {
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        numbers.has(oid) ? Number : pg.types.getTypeParser(oid, format as 'text'),
    },
  });
  // A broken connection is out of the pool by then, and whoever was using it learns from their query.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return new PostgresDialect({ pool: new TellingPool(pool, log && new Outage(log)) });
}

/**
 * pg leaves a connection open when it gives up itself in the middle of a log-in, as for want of a password, and the process
 * could not end.
 */
class HangingUpClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config);
    const { connection } = this as unknown as { connection: pg.Connection };
    connection.on('error', () => connection.stream.destroy());
  }
}

/** A pool that tells a lost database from a wrong query, and keeps no connection that was lost. */
class TellingPool implements PostgresPool {
  constructor(
    private readonly pool: pg.Pool,
    private readonly outage: Outage | undefined,
  ) {}

  async connect(): Promise<PostgresPoolClient> {
    const client = await this.pool.connect().catch((cause: unknown) => {
      const error = new DatabaseUnavailableError(`No connection to PostgreSQL: ${reason(cause)}`, { cause });
      this.outage?.failed(error);
      throw error;
    });
    return tellingClient(client, this.outage);
  }

  end(): Promise<void> {
    return this.pool.end();
  }
}

function tellingClient(client: pg.PoolClient, outage: Outage | undefined): PostgresPoolClient {
  let lost: DatabaseUnavailableError | undefined;
  const query = async (sql: string, parameters: readonly unknown[]) => {
    // What is asked after the loss, a rollback, shall not hide why.
    if (lost) throw lost;
    try {
      const result = await client.query(sql, parameters.map(storable));
      outage?.answered();
      return result;
    } catch (cause) {
      if (!isLoss(cause)) throw cause;
      lost = new DatabaseUnavailableError(`The connection to PostgreSQL was lost: ${reason(cause)}`, { cause });
      outage?.failed(lost);
      throw lost;
    }
  };
  return {
    // Kysely's interface also has cursors, which it asks for only where they are configured.
    query: query as unknown as PostgresPoolClient['query'],
    release: () => client.release(lost !== undefined),
  };
}

/** PostgreSQL's text holds every character but U+0000, which is kept as its symbol. */
export const storable = (value: unknown): unknown =>
  typeof value === 'string' ? value.replaceAll('\0', '\u2400') : value;

/**
 * Codes with which a server says that it cannot serve now: shut down by its operator or crashed, starting, out of
 * connections, in recovery, or (idle_in_transaction_session_timeout) without patience for a process that was stopped.
 */
const away: ReadonlySet<string> = new Set(['57P01', '57P02', '57P03', '53300', '25006', '25P03']);

function isLoss(error: unknown): boolean {
  // Whatever is not an answer of the server is the end of the conversation with it.
  if (!(error instanceof pg.DatabaseError)) return true;
  return error.code !== undefined && (away.has(error.code) || error.code.startsWith('08'));
}

/** An address that resolves to several is tried at each, and the error of that has no message of its own. */
function reason(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reason).join('; ');
  const message = error instanceof Error ? error.message : String(error);
  // What pg says for want of a password is the name of a step in the protocol.
  return /client password must be a (non-empty )?string/.test(message)
    ? 'no password was given: put it into the URL or set PGPASSWORD'
    : message;
}
