/**
 * The object store cannot be reached, refuses or does not do what it was asked. No job's and no caller's fault, and over
 * when it is back or its operator has mended the settings. The SDK's own error is not kept as the cause: it carries the
 * signed request, which belongs in no log.
 */
export class StorageUnavailableError extends Error {
  override readonly name = 'StorageUnavailableError';
}

export const isStorageUnavailable = (error: unknown): error is StorageUnavailableError =>
  error instanceof StorageUnavailableError;
