import { BundleError } from '../base/errors.js';
import { type Bundle, bundleOfKind } from '../bundle/load-bundle.js';
import { ComputeDevice } from '../network/compute-device.js';
import { openMattingNetwork } from '../photo/matte.js';
import { openReconstructor } from '../reconstructor.js';
import { runBundle } from './parity-run.js';

/**
 * Loads every graph of the bundle as the engine does, and releases it.
 *
 * @throws {BundleError} naming the file, the tensor and both shapes if a graph does not match the manifest
 */
export async function checkBundle(bundle: Bundle): Promise<void> {
  if (bundle.manifest.kind === 'http') return;
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
 * @example
 * await testBundle(await loadBundle('my-network')); // throws if a graph does not match the manifest
 */
export async function testBundle(bundle: Bundle): Promise<void> {
  const outputs = (await runBundle(bundle, new ComputeDevice(), { runs: 1 })).flatMap(({ outputs }) => [...outputs]);
  const wrong = outputs.filter(([, values]) => !values.every(Number.isFinite) || values.every((value) => value === 0));
  if (wrong.length === 0) return;
  throw new BundleError(
    `${bundle.manifest.name} failed its self-test: output ${wrong.map(([name]) => name).join(', ')} is all zero or not a number. Are these the right weights?`,
  );
}
