import type { ErrorClasses } from '@gen3d/rpc';

/** Say why the engine could not make a model of a photo. The server uses these as a job's `error.code`. */
export const engineErrorCodes = ['image_invalid', 'image_too_large', 'no_foreground', 'inference_failed'] as const;
export type EngineErrorCode = (typeof engineErrorCodes)[number];

/** An expected failure that is due to the photo or the machine. The message says what is wrong and what to do. */
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

/** Says that an image takes more memory to decode than `maxMemoryBytes`. */
export const needsTooMuchMemory = (maxMemoryBytes: number): string =>
  `Decoding the image takes more than ${Math.round(maxMemoryBytes / 1024 / 1024)} MiB of memory. ` +
  'Scale it down, or save it as a PNG or JPEG that is neither interlaced nor progressive.';

/** A bundle is missing, damaged or not as its manifest says. The message names the file, tensor or field. */
export class BundleError extends Error {
  override readonly name: string = 'BundleError';
}

/** None of the searched folders has the bundle. */
export class MissingBundleError extends BundleError {}

/** The engine's errors, which keep their class when they cross from a process or thread to another. */
export const engineErrors: ErrorClasses = {
  EngineError: ({ code, message }, options) =>
    isEngineErrorCode(code) ? new EngineError(code, message, options) : undefined,
  BundleError: ({ message }, options) => new BundleError(message, options),
};

const isEngineErrorCode = (code: string | undefined): code is EngineErrorCode =>
  engineErrorCodes.some((known) => known === code);

/** Returns the message of anything that was thrown. */
export const errorMessage = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

/** A native addon, such as SQLite's, cannot be loaded. The message says why and what to do. */
export class NativePartError extends Error {
  override readonly name = 'NativePartError';
}
