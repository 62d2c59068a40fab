/** The database is temporarily unavailable: it cannot be reached, or the connection was lost. Trying again later helps. */
export class DatabaseUnavailableError extends Error {
  override readonly name: string = 'DatabaseUnavailableError';
}

/** Another process held SQLite's write lock for too long. The statement or transaction has done nothing. */
export class DatabaseLockedError extends DatabaseUnavailableError {
  override readonly name = 'DatabaseLockedError';
}

export const isUnavailable = (error: unknown): error is DatabaseUnavailableError =>
  error instanceof DatabaseUnavailableError;

/** Whether a failed transaction may have been committed, because only the acknowledgement was lost. */
export const mayBeCommitted = (error: unknown): boolean =>
  isUnavailable(error) && !(error instanceof DatabaseLockedError);

/** For the log. Where in the code somebody found the database away helps nobody, so that has no stack. */
export const whyFailed = (error: unknown): { reason: string } | { err: unknown } =>
  isUnavailable(error) ? { reason: error.message } : { err: error };
