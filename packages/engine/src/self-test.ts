import { BundleError } from './base/errors.js';
import { type Bundle, bundleOfKind } from './bundle/load-bundle.js';
import type { Device } from './device/adapter.js';
import { chooseDevice } from './device/choose-device.js';
import { isTolerable } from './device/difference.js';
import { ComputeDevice } from './network/compute-device.js';
import { compareWithCpu, runBundle } from './parity-run.js';
import { openMattingNetwork } from './photo/matte.js';
import { openReconstructor } from './reconstructor.js';

/** A check of a bundle on a device. */
export interface SelfTest {
  readonly name: string;
  /** @throws {Error} if a network cannot run */
  run(): Promise<{ readonly passed: boolean; readonly detail: string }>;
  /** Why the check is skipped here. */
  readonly skipped?: string;
}

/**
 * Lists the checks for the first run of a bundle on a machine.
 *
 * @throws {BundleError} if the named device cannot be used
 */
export async function selfTests(bundle: Bundle, device: Device): Promise<{ provider: string; tests: SelfTest[] }> {
  const { provider } = await chooseDevice(device, []);
  if (bundle.manifest.kind === 'http') return { provider, tests: [] };
  const compute = new ComputeDevice(provider);
  const onCpu = provider === 'cpu';
  const tests = [
    { name: `all outputs on ${provider} are finite and not all zero`, run: () => finiteOutputs(bundle, compute) },
    {
      name: `${onCpu ? 'a GPU' : provider} gives the same results as the CPU`,
      run: () => sameAsCpu(bundle, compute),
      ...(onCpu && { skipped: device === 'cpu' ? 'the chosen device is the CPU' : 'no usable GPU was found' }),
    },
  ];
  return { provider, tests };
}

async function finiteOutputs(bundle: Bundle, device: ComputeDevice) {
  const outputs = (await runBundle(bundle, device, { runs: 1 })).flatMap(({ outputs }) => [...outputs]);
  const wrong = outputs.filter(([, values]) => !values.every(Number.isFinite) || values.every((value) => value === 0));
  const names = (wrong.length > 0 ? wrong : outputs).map(([name]) => name).join(', ');
  return { passed: wrong.length === 0, detail: names };
}

async function sameAsCpu(bundle: Bundle, device: ComputeDevice) {
  const { difference, ms, cpuMs } = await compareWithCpu(bundle, device, new ComputeDevice());
  const { rms, largest } = difference;
  const times = `${Math.ceil(ms)} ms, the CPU ${Math.ceil(cpuMs)} ms`;
  return {
    passed: isTolerable(difference),
    detail: `differs by ${rms.toExponential(0)} of the spread, ${largest.toExponential(0)} of the range at most; ${times}`,
  };
}

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
  const { passed, detail } = await finiteOutputs(bundle, new ComputeDevice());
  if (passed) return;
  throw new BundleError(
    `${bundle.manifest.name} failed its self-test: output ${detail} is all zero or not a number. Are these the right weights?`,
  );
}
