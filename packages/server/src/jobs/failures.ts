import { jobType, type TaskErrorCode } from '@gen3d/schema';

/** An expected end of a job: it becomes FAILED with this code and this sentence for a person. */
export class JobFailure extends Error {
  override readonly name = 'JobFailure';
  constructor(
    readonly code: TaskErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export const unsupportedType = (type: string): JobFailure =>
  new JobFailure(
    'unsupported_type',
    `Jobs of type ${JSON.stringify(type.slice(0, 64))} are not supported; send ${jobType}`,
  );

export const outOfAttempts = (attempts: number): JobFailure =>
  new JobFailure(
    'internal_error',
    `Processing broke off ${attempts} times for reasons on the service's side; try again`,
  );
