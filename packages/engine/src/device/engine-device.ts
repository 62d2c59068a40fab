import { BundleError, MissingBundleError } from '../base/errors.js';
import { type Bundle, builtInBundle, bundleOfKind, findBundle, packageOf } from '../bundle/load-bundle.js';
import type { MatteManifest, ReconstructionManifest } from '../bundle/manifest.js';
import { ComputeDevice } from '../network/compute-device.js';
import { localSessions, type OpenSession } from '../network/session.js';
import type { Device } from './adapter.js';
import { type ChosenDevice, chooseDevice } from './choose-device.js';
import { assumedSpeed, flopsOf } from './cpu-speed.js';

export interface EngineOptions {
  /** A bundle's name, or `inflate`. */
  readonly bundle: string;
  /** The matting bundle's name. The bundle is opened for the first photo that needs it. */
  readonly matte: string;
  readonly device: Device;
  /** Folders with bundles. The first one that has the name is used. */
  readonly modelDirs: readonly string[];
  /** The folder in which results of device checks are saved. Default: the device is checked at each start. */
  readonly cacheDir?: string;
  /** Threads per network on the CPU. Default 0: one per physical core. */
  readonly threads?: number;
  /** Called with one warning if the device fails and the CPU takes over. Default: console.warn. */
  readonly onWarning?: (message: string) => void;
}

export interface EngineBundles {
  /** Undefined for `inflate`. */
  readonly reconstruction: Bundle<ReconstructionManifest> | undefined;
  /**
   * Colors the shapes of a bundle without colors, and helps to find the camera of their photos. Undefined for other
   * bundles, or if its package is not installed.
   */
  readonly guide: Bundle<ReconstructionManifest> | undefined;
  /** Undefined if its package is not installed, if it is damaged, or if `inflate` makes the models: cutouts need none. */
  readonly matte: Bundle<MatteManifest> | undefined;
}

/** Says which device an engine uses and how it was chosen, and opens sessions on it. */
export interface EngineDevice {
  readonly chosen: ChosenDevice;
  readonly openSession: OpenSession;
  /** Measures stage times, in milliseconds. */
  readonly now: () => number;
}

export const findMatteBundle = async ({ matte, modelDirs }: EngineOptions): Promise<Bundle<MatteManifest>> =>
  bundleOfKind(await findBundle(matte, modelDirs), 'matte');

/** @throws {BundleError} if a bundle is missing, damaged or of another kind */
export async function findBundles(options: EngineOptions): Promise<EngineBundles> {
  const { bundle, modelDirs } = options;
  if (bundle === builtInBundle) {
    return {
      reconstruction: undefined,
      guide: undefined,
      matte: await findMatteBundle(options).catch(() => undefined),
    };
  }
  const reconstruction = bundleOfKind(await findBundle(bundle, modelDirs), 'reconstruction');
  // The matting network is loaded for the first photo that needs it, and that photo's error says what is wrong with it.
  const matte = await findBundle(options.matte, modelDirs).catch((error: unknown) => {
    const isMistyped = error instanceof MissingBundleError && !packageOf(options.matte);
    if (error instanceof BundleError && !isMistyped) return undefined;
    throw error;
  });
  const guide = await findGuide(reconstruction, modelDirs);
  return { reconstruction, guide, matte: matte && bundleOfKind(matte, 'matte') };
}

/** This bundle supplies the colors of the far side, which the photo does not show. Takes 0.04 s. */
const guideName = 'gen3d-base';

async function findGuide({ manifest }: Bundle<ReconstructionManifest>, modelDirs: readonly string[]) {
  const { decoder } = manifest;
  if (decoder.kind === 'columns' || ('color' in decoder && decoder.color !== undefined)) return undefined;
  const guide = await findBundle(guideName, modelDirs).catch((error: unknown) => {
    if (error instanceof MissingBundleError) return undefined;
    throw error;
  });
  return guide && bundleOfKind(guide, 'reconstruction');
}

/**
 * Chooses the device for the bundles. For the kind `steps`, the CPU replaces neither a missing nor a failed device,
 * because it would take minutes for a photo.
 *
 * @throws {BundleError} if the named device cannot be used, or if only the CPU can be used and was not named
 */
export async function openDevice(
  { reconstruction, guide, matte }: EngineBundles,
  { device, cacheDir, threads = 0, onWarning = console.warn }: EngineOptions,
): Promise<EngineDevice> {
  const bundles = [reconstruction, guide, matte].filter((found) => found !== undefined);
  const chosen = await chooseDevice(device, bundles, { cacheDir });
  const decoder = reconstruction?.manifest.decoder;
  const inSteps = decoder?.kind === 'steps';
  const expectedSeconds = inSteps && chosen.provider === 'cpu' ? flopsOf(decoder) / assumedSpeed() : undefined;
  if (expectedSeconds !== undefined && device !== 'cpu') {
    const problems = chosen.rejected.map(({ provider, problem }) => `${provider}: ${problem}`).join('; ');
    throw new BundleError(
      `${reconstruction!.manifest.name} needs a GPU, and none can be used here (${problems}). On this CPU, a photo would take about ${inWords(expectedSeconds)}; \`--device cpu\` runs it anyway`,
    );
  }
  const computeDevice = new ComputeDevice(chosen.provider, inSteps ? undefined : onWarning);
  return {
    chosen: { ...chosen, ...(expectedSeconds !== undefined && { expectedSeconds }) },
    openSession: localSessions({ threads, device: computeDevice }),
    now: () => performance.now(),
  };
}

const inWords = (seconds: number): string =>
  seconds < 90 ? `${Math.ceil(seconds)} seconds` : `${Math.ceil(seconds / 60)} minutes`;
