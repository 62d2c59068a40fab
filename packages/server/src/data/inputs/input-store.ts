/**
 * The images of jobs, one per job, kept until the job is finished: as it came in the request, and after its preparation as
 * `normalizeImage` made it. They belong to their owners and are never served.
 */
export interface InputStore {
  /** Stores a job's photo; when this resolves it survives a crash. */
  put(jobId: string, photo: Uint8Array): Promise<void>;

  /**
   * Stores the prepared image instead of the original, if there is one. After a crash at any point, one of them is
   * there.
   */
  replace(jobId: string, prepared: Uint8Array): Promise<void>;

  /** @throws {UnreadablePhotoError} if it is not there, or the folder cannot be read */
  read(jobId: string): Promise<Uint8Array>;

  /** There need not be one. */
  remove(jobId: string): Promise<void>;

  /** Removes photos older than `olderThan` (milliseconds since 1970) that `isNeeded` does not claim: a crash left them. */
  sweep(olderThan: number, isNeeded: (jobId: string) => Promise<boolean>): Promise<void>;
}
