import type { Bundle } from './bundle/load-bundle.js';
import { bundleOfKind } from './bundle/load-bundle.js';
import { openReconstructor } from './engine.js';
import { openMattingModel } from './photo/matte.js';

/**
 * Loads every graph of the bundle as the engine would, and lets go of them again.
 *
 * @throws {BundleError} naming the file, the tensor and both shapes where a graph is not what the manifest says
 */
export async function checkBundle(bundle: Bundle): Promise<void> {
  const model =
    bundle.manifest.kind === 'matte'
      ? await openMattingModel(bundleOfKind(bundle, 'matte'))
      : await openReconstructor(bundleOfKind(bundle, 'reconstruction'));
  await model.release();
}
