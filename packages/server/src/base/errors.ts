/** A setting that cannot be used. The message lists every problem and where it was set. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** A mistake of the person who runs an administration command. The message is for them. */
export class AdminError extends Error {
  override readonly name = 'AdminError';
}

/** The message of whatever was thrown. */
export const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * The store of models and images cannot be reached or refuses a request. Neither the job nor the client is at fault.
 * Has no `cause`, because the SDK's error contains the signed request, which must not be logged.
 */
export class StorageUnavailableError extends Error {
  override readonly name = 'StorageUnavailableError';
}

export const isStorageUnavailable = (error: unknown): error is StorageUnavailableError =>
  error instanceof StorageUnavailableError;

/** Returns a handler that replaces the error of a missing file with a value, and passes on any other. */
export const ifMissing =
  <T>(value: T) =>
  (error: unknown): T => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return value;
    throw error;
  };

/** SQLITE_IOERR_SHMSIZE: SQLite could not enlarge the index of its write-ahead log. 53100: PostgreSQL's disk_full. */
const diskFullCodes = new Set(['ENOSPC', 'EDQUOT', 'SQLITE_FULL', 'SQLITE_IOERR_SHMSIZE', '53100']);

export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && diskFullCodes.has(String(error.code));
}
