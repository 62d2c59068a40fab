/** A job needs something that is unavailable. It waits and loses no attempt. The message is for the operator's log. */
export class TemporaryFailure extends Error {
  override readonly name = 'TemporaryFailure';
}

/** An attempt failed for a reason that clients may read, such as another server's error. The job can be tried again. */
export class AttemptFailure extends Error {
  override readonly name = 'AttemptFailure';
}

/** An attempt ends because another account needs its share. It counts, and the job is claimed again after a pause. */
export class GaveWayError extends Error {
  override readonly name = 'GaveWayError';
}

/** The work on a job stops early because its lease was released, so another machine can claim it. */
export class ReleasedError extends Error {
  override readonly name = 'ReleasedError';
}

/** A child process returned something that cannot be its result, so a photo may have taken it over. It is killed. */
export class WrongResultError extends Error {
  override readonly name = 'WrongResultError';
}

/** A file system or store did not respond in time, such as NFS with an unavailable server. */
export class StageTimeoutError extends Error {
  override readonly name = 'StageTimeoutError';
}
