import type { PhotoSide } from '@gen3d/schema/rules';

/**
 * Stores the images of jobs, one per side, until the job has ended, and for a while after that (see jobs/retry.ts).
 * stored-image.ts has their form: as received, and after preparation as pixels. Images are private: only the dashboard
 * serves them, to the account that owns them.
 */
export interface InputStore {
  /** Stores a job's image. Once this resolves, the image survives a crash. */
  put(jobId: string, side: PhotoSide, image: Uint8Array): Promise<void>;

  /** Replaces the original, if any, with the prepared image. After a crash at any point, one of them exists. */
  replace(jobId: string, side: PhotoSide, prepared: Uint8Array): Promise<void>;

  /** @throws {UnreadableImageError} if the image does not exist or cannot be read */
  read(jobId: string, side: PhotoSide): Promise<Uint8Array>;

  /**
   * Stores a job's image as that of another job too, without reading it into memory. Once this resolves, the copy
   * survives a crash.
   * @throws {UnreadableImageError} if the image does not exist or cannot be read
   */
  copy(jobId: string, side: PhotoSide, newJobId: string): Promise<void>;

  /** Removes a job's images, if any. */
  remove(jobId: string): Promise<void>;

  /** Removes a job's images and drafts at once, and leaves nothing to the sweep. @throws if the store is unavailable */
  erase(jobId: string): Promise<void>;

  /** Removes images older than `olderThan` (milliseconds since 1970) for which `isNeeded` is false, left by a crash. */
  sweep(olderThan: number, isNeeded: (jobId: string) => Promise<boolean>): Promise<void>;
}

/**
 * A stored image is missing or cannot be read. The operator can usually repair this (a disk that is not mounted,
 * another machine's folder), so the job waits for a while before it fails.
 */
export class UnreadableImageError extends Error {
  override readonly name = 'UnreadableImageError';

  constructor(
    jobId: string,
    readonly side: PhotoSide,
    problem: string,
    options?: ErrorOptions,
  ) {
    super(`The image of job ${jobId} (${side}) cannot be read: ${problem}`, options);
  }

  /** True if the image does not exist, rather than being unreadable. */
  get isMissing(): boolean {
    const { code } = (this.cause ?? { code: 'ENOENT' }) as NodeJS.ErrnoException;
    return code === 'ENOENT';
  }
}
