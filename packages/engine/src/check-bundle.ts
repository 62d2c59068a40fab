import { BundleError } from './base/errors.js';
import { type Bundle, bundleOfKind } from './bundle/load-bundle.js';
import { ComputeDevice } from './network/compute-device.js';
import { runBundle } from './parity-run.js';
import { openMattingNetwork } from './photo/matte.js';
import { openReconstructor } from './reconstructor.js';

/**
 * Loads every graph of the bundle as the engine does, and releases it.
 *
 * @throws {BundleError} naming the file, the tensor and both shapes if a graph does not match the manifest
 */
export async function checkBundle(bundle: Bundle): Promise<void> {
  const networks =
    bundle.manifest.kind === 'matte'
      ? await openMattingNetwork(bundleOfKind(bundle, 'matte'))
      : await openReconstructor(bundleOfKind(bundle, 'reconstruction'));
  await networks.release();
}

/**
 * Loads every graph of the bundle and runs it on a test image on the CPU.
 *
 * @throws {BundleError} as `checkBundle`, and if the output is all zero or not a number
 */
export async function testBundle(bundle: Bundle): Promise<void> {
  const run = await runBundle(bundle, new ComputeDevice(), { runs: 1 });
  for (const [name, values] of run.flatMap(({ outputs }) => [...outputs])) {
    if (values.every(Number.isFinite) && values.some((value) => value !== 0)) continue;
    throw new BundleError(
      `${bundle.manifest.name} failed its self-test: output "${name}" is all zero or not a number. Are these the right weights?`,
    );
  }
}
