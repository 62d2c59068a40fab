/** A GLB that cannot be converted, or an option that cannot be applied. The message says why, and what to do. */
export class ConversionError extends Error {
  override readonly name = 'ConversionError';
}
