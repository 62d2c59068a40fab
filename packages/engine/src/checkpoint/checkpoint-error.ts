import { BundleError } from '../base/errors.js';

const maxLength = 500;

/**
 * A checkpoint that cannot be used. The message says why; `readCheckpoint` adds the path.
 *
 * Messages quote names from the file, which may be megabytes long and full of terminal escape sequences.
 */
export class CheckpointError extends BundleError {
  constructor(message: string, options?: ErrorOptions) {
    super(message.slice(0, maxLength).replace(/\p{Cc}/gu, '?'), options);
  }
}
