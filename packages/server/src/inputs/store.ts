/**
 * Photos that came inside a request, one per job, kept until the job is finished. Nothing here is ever served: they are
 * their owner's only.
 */
export interface InputStore {
  /** Stores a job's photo; when this resolves it survives a crash. */
  put(jobId: string, photo: Uint8Array): Promise<void>;

  /** @throws {UnreadablePhotoError} if it is not there, or the folder cannot be read */
  read(jobId: string): Promise<Uint8Array>;

  /** There need not be one. */
  remove(jobId: string): Promise<void>;

  /** Removes photos older than `olderThan` (milliseconds since 1970) that `isNeeded` does not claim: a crash left them. */
  sweep(olderThan: number, isNeeded: (jobId: string) => Promise<boolean>): Promise<void>;
}
