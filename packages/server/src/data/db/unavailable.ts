import type { Logger } from 'pino';
import { isSqliteError } from './sqlite-connection.js';

/** The database cannot be reached, or the connection was lost. Trying again later may succeed. */
export class DatabaseUnavailableError extends Error {
  override readonly name: string = 'DatabaseUnavailableError';
}

/** Another process held SQLite's write lock for too long. The statement or transaction had no effect. */
export class DatabaseLockedError extends DatabaseUnavailableError {
  override readonly name = 'DatabaseLockedError';
}

export const isUnavailable = (error: unknown): error is DatabaseUnavailableError =>
  error instanceof DatabaseUnavailableError;

/**
 * True if a failed transaction may have been committed: only the acknowledgment was lost, or SQLite could not sync a
 * commit that it had written. If the process then ends before its next commit, the next one finds that commit in the
 * log.
 */
export const mayBeCommitted = (error: unknown): boolean =>
  isUnavailable(error)
    ? !(error instanceof DatabaseLockedError)
    : isSqliteError(error) && error.code.startsWith('SQLITE_IOERR');

/**
 * Returns the log fields of an error. An unavailable database is logged without its stack trace, which would not help.
 */
export const failureReason = (error: unknown): { reason: string } | { err: unknown } =>
  isUnavailable(error) ? { reason: error.message } : { err: error };

/** Successes end an outage only after this long without a failure: a server short of connections fails some queries. */
const calmMs = 1_000;

/** Logs the start and the end of an outage of the database once each, however many queries fail. */
export class Outage {
  readonly #log: Logger;
  readonly #now: () => number;
  #since: number | undefined;
  #lastFailure = 0;

  /** `now` is a monotonic clock in milliseconds. */
  constructor(log: Logger, now: () => number = () => performance.now()) {
    this.#log = log;
    this.#now = now;
  }

  failed({ message }: DatabaseUnavailableError): void {
    this.#lastFailure = this.#now();
    if (this.#since !== undefined) return;
    this.#since = this.#lastFailure;
    this.#log.error({ reason: message }, 'the database is unavailable');
  }

  succeeded(): void {
    if (this.#since === undefined || this.#now() - this.#lastFailure < calmMs) return;
    this.#log.warn(
      { awaySeconds: Math.round((this.#now() - this.#since) / 100) / 10 },
      'the database is available again',
    );
    this.#since = undefined;
  }
}
