/** Something the service needs is unavailable. The job waits and loses no attempt. The message is for the operator's log. */
export class TemporaryFailure extends Error {
  override readonly name = 'TemporaryFailure';
}

/** An attempt failed for a reason that clients may read, such as another server's error. The job can be tried again. */
export class AttemptFailure extends Error {
  override readonly name = 'AttemptFailure';
}

/** An attempt ends because another account needs its slot. It counts, and the job can be claimed again after a pause. */
export class GaveWayError extends Error {
  override readonly name = 'GaveWayError';
}

/** Limits each access to files or objects. Longer than the retries of a request to S3. */
export const defaultStageTimeoutMs = 120_000;

/**
 * A file system or store did not respond in time, such as NFS with an unavailable server. The call cannot be canceled
 * and may occupy a thread until the process ends, so the process must be replaced.
 */
export class StageTimeoutError extends Error {
  override readonly name = 'StageTimeoutError';
  constructor(
    /** The operation that failed, for example "reading the input". */
    readonly stage: string,
    timeoutMs: number,
  ) {
    super(`${stage} took longer than ${timeoutMs / 1_000} s`);
  }
}

/** @throws {StageTimeoutError} when `work` has not settled after `timeoutMs` */
export async function withStageTimeout<T>(stage: string, timeoutMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new StageTimeoutError(stage, timeoutMs)), timeoutMs);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
