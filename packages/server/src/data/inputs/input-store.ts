import type { Readable } from 'node:stream';

/** A stored image whose bytes are read as the receiver takes them. */
export interface ImageStream {
  /** Read or destroy it, because it holds a connection or a file. */
  bytes: Readable;
  size: number;
}

/**
 * Stores one image per job until the job has succeeded, or for a while after it failed (see jobs/retry.ts). It is
 * stored as received; after preparation, a PNG of its pixels replaces it. Images are private: only the
 * dashboard serves them, to the account that owns them, and only if the job has no model.
 */
export interface InputStore {
  /** Stores a job's image. Once this resolves, the image survives a crash. */
  put(jobId: string, image: Uint8Array): Promise<void>;

  /** Replaces the original, if any, with the prepared image. After a crash at any point, one of them exists. */
  replace(jobId: string, prepared: Uint8Array): Promise<void>;

  /** @throws {UnreadableImageError} if the image does not exist or cannot be read */
  read(jobId: string): Promise<Uint8Array>;

  /** Streams what `read` returns to receivers that may be slow: only a part of the image is in memory. */
  open(jobId: string): Promise<ImageStream>;

  /**
   * Stores a job's image as that of another job too, without reading it into memory. Once this resolves, the copy survives
   * a crash.
   * @throws {UnreadableImageError} if the image does not exist or cannot be read
   */
  copy(jobId: string, newJobId: string): Promise<void>;

  /** Removes a job's image, if any. */
  remove(jobId: string): Promise<void>;

  /** Removes the input and its drafts at once, and leaves nothing to the sweep. @throws if the store is unavailable */
  erase(jobId: string): Promise<void>;

  /** Removes images older than `olderThan` (milliseconds since 1970) for which `isNeeded` is false, left by a crash. */
  sweep(olderThan: number, isNeeded: (jobId: string) => Promise<boolean>): Promise<void>;
}

/**
 * A stored image is missing or cannot be read. The operator can usually repair this (a disk that is not mounted, another
 * machine's folder), so the job waits for a while before it fails.
 */
export class UnreadableImageError extends Error {
  override readonly name = 'UnreadableImageError';

  /** True if the image does not exist, rather than being unreadable. */
  get isMissing(): boolean {
    const { code } = (this.cause ?? { code: 'ENOENT' }) as NodeJS.ErrnoException;
    return code === 'ENOENT';
  }
}
