import { firstCharacters, jobType, type TaskErrorCode } from '@gen3d/schema';

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

/** The part of a job's type that is kept: the contract accepts any other type than its own, however long. */
export const keptType = (type: string): string => firstCharacters(type, 64);

export const unsupportedType = (type: string): JobFailure =>
  new JobFailure(
    'unsupported_type',
    `Jobs of type ${JSON.stringify(keptType(type))} are not supported; send ${jobType}`,
  );

export const outOfAttempts = (attempts: number): JobFailure =>
  new JobFailure(
    'internal_error',
    `Processing broke off ${attempts} times for reasons on the service's side; try again`,
  );
