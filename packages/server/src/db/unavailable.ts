/** The database cannot be reached, or has broken off in the middle: nobody's fault, and over when it is back. */
export class DatabaseUnavailableError extends Error {
  override readonly name = 'DatabaseUnavailableError';
}

export const isUnavailable = (error: unknown): error is DatabaseUnavailableError =>
  error instanceof DatabaseUnavailableError;

/** For the log. Where in the code somebody found the database away helps nobody, so that has no stack. */
export const whyFailed = (error: unknown): { reason: string } | { err: unknown } =>
  isUnavailable(error) ? { reason: error.message } : { err: error };
