import { BundleError } from '@gen3d/engine/bundles';

/**
 * A checkpoint that cannot be used. The message says why; `readCheckpoint` adds the path.
 *
 * Messages quote names from the file, which may be megabytes long and contain terminal escape sequences.
 */
export class CheckpointError extends BundleError {
  constructor(message: string, options?: ErrorOptions) {
    super(message.slice(0, 500).replace(/\p{Cc}/gu, '?'), options);
  }
}
