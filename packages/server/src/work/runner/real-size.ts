import { EngineError } from '@gen3d/engine/errors';
import type { RealSize } from '@gen3d/schema/rules';

/**
 * Gives a model the real size that its job names, if it names one.
 * @throws {EngineError} if the model has no length in the direction of the size
 */
export async function resized(glb: Uint8Array, size: RealSize | undefined): Promise<Uint8Array> {
  if (!size) return glb;
  // Few jobs have a size.
  const { ConversionError, resizeGlb } = await import('@gen3d/convert');
  return resizeGlb(glb, size).catch((error: unknown) => {
    throw error instanceof ConversionError ? new EngineError('inference_failed', `${error.message}.`) : error;
  });
}
