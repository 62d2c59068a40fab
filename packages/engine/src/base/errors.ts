/** Why the engine could not make a model of a photo. The server passes these on as a job's `error.code`. */
export type EngineErrorCode = 'image_invalid' | 'image_too_large' | 'no_foreground' | 'inference_failed';

/** An expected failure: about this photo or this machine, never a bug. The message says what was wrong and what to do. */
export class EngineError extends Error {
  override readonly name: string = 'EngineError';

  constructor(
    readonly code: EngineErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** A bundle that is missing, damaged or not what its manifest says. Names the file, tensor or field. */
export class BundleError extends Error {
  override readonly name: string = 'BundleError';
}
