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
 * True if a failed transaction may have been committed: only the acknowledgment was lost, or SQLite could not sync a commit
 * that it had written. If the process then ends before its next commit, the next one finds that commit in the log.
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
