import { firstCharacters, jobType, type TaskErrorCode } from '@gen3d/schema';

/** An expected failure of a job: it becomes FAILED with this code and this message. */
export class JobFailure extends Error {
  override readonly name = 'JobFailure';
  readonly code: TaskErrorCode;

  constructor(code: TaskErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Shortens a job's type for the database, because the contract accepts unknown types of any length. */
export const truncatedType = (type: string): string => firstCharacters(type, 64);

export const unsupportedType = (type: string): JobFailure =>
  new JobFailure(
    'unsupported_type',
    `Jobs of type ${JSON.stringify(truncatedType(type))} are not supported; send ${jobType}`,
  );

/** @param reason why the last attempt failed, if clients may read it */
export const outOfAttempts = (attempts: number, reason?: string): JobFailure => {
  const why = reason === undefined ? ' because of errors in the service' : `. ${reason}`;
  return new JobFailure('internal_error', `Processing failed ${attempts} times${why}; try again`);
};
