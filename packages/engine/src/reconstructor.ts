import type { Cutout } from './base/image.js';
import { type Bundle, builtInBundle } from './bundle/load-bundle.js';
import type { ReconstructionManifest } from './bundle/manifest.js';
import { fitCamera } from './camera/fit-camera.js';
import { withColorsOf } from './camera/guide-colors.js';
import { openBoxed } from './field/boxed.js';
import type { BoxManifest } from './field/boxed-field.js';
import { carve } from './field/carve.js';
import { type ColumnsManifest, encodeColumns } from './field/columns.js';
import type { CameralessField, DensityField } from './field/density-field.js';
import { inflate } from './field/inflate.js';
import type { SamplingOptions } from './field/sample-latents.js';
import { isSteps, openSteps } from './field/steps.js';
import type { BundleCredit } from './gltf/write-glb.js';
import { type OpenSession, openEncoder } from './network/session.js';

/** Turns a framed cutout into a density field: a bundle of any decoder kind, or the one built in. */
export interface Reconstructor {
  /** Identify the weights in each GLB. The first is the bundle's own. */
  readonly credits: readonly [BundleCredit, ...BundleCredit[]];
  readonly foregroundRatio: number;
  /** Whether nearly all of the time goes into `reconstruct`, which then reports its progress. */
  readonly inSteps: boolean;
  /** @throws the signal's reason, once aborted */
  reconstruct(cutout: Cutout, options?: SamplingOptions): Promise<DensityField>;
  release(): Promise<void>;
}

export const inflateReconstructor: Reconstructor = {
  credits: [{ name: builtInBundle, licence: 'MIT' }],
  foregroundRatio: 0.86,
  inSteps: false,
  reconstruct: async (cutout) => inflate(cutout),
  release: async () => {},
};

/**
 * Loads the networks of a reconstruction bundle.
 *
 * @param guideBundle a bundle of the kind `columns` that colors the shapes of a bundle without colors, and helps to find
 *   the photo's camera
 * @throws {BundleError} if a network does not match the manifest
 */
export async function openReconstructor(
  bundle: Bundle<ReconstructionManifest>,
  open?: OpenSession,
  guideBundle?: Bundle<ReconstructionManifest>,
): Promise<Reconstructor> {
  const { name, licence, input, origin } = bundle.manifest;
  const credit = {
    name,
    licence: licence.weights.licence,
    ...(origin && { precision: origin.precision, checkpointSha256: origin.checkpoint.sha256 }),
  };
  const { foregroundRatio } = input;
  if (isColumns(bundle)) {
    const session = await openEncoder(bundle, open);
    return {
      credits: [credit],
      foregroundRatio,
      inSteps: false,
      reconstruct: (cutout) => encodeColumns(bundle, session, cutout),
      release: () => session.release(),
    };
  }
  const guide = guideBundle && (await openReconstructor(guideBundle, open));
  const common: Pick<Reconstructor, 'credits' | 'foregroundRatio'> = {
    credits: [credit, ...(guide?.credits ?? [])],
    foregroundRatio,
  };
  const { camera } = bundle.manifest;
  const withCamera = async (field: CameralessField, cutout: Cutout, signal?: AbortSignal): Promise<DensityField> => {
    const guided = await guide?.reconstruct(cutout);
    if (!camera) {
      // Flow models turn objects as in their training data, not as the photo shows them.
      const anyYaw = isSteps(bundle);
      return withColorsOf(guided, await fitCamera(field, cutout, { anyYaw, guide: guided, signal }));
    }
    const halfTangent = Math.tan((camera.fovDegrees * Math.PI) / 360);
    return withColorsOf(guided, { ...field, camera: { distance: camera.distance, halfTangent } });
  };
  const releaseWith = async (release: () => Promise<void>) => {
    await release();
    await guide?.release();
  };
  if (isSteps(bundle)) {
    const { encode, release } = await openSteps(bundle, open);
    return {
      ...common,
      inSteps: true,
      // Not carved: such a shape follows the photo's outline better than a fitted camera shows it.
      reconstruct: async (cutout, options) => withCamera(await encode(cutout, options), cutout, options?.signal),
      release: () => releaseWith(release),
    };
  }
  // TypeScript does not narrow nested properties. isColumns and isSteps have checked the kind.
  const { encode, release } = await openBoxed(bundle as Bundle<BoxManifest>, open);
  return {
    ...common,
    inSteps: false,
    reconstruct: async (cutout) => carve(await withCamera(await encode(cutout), cutout), cutout),
    release: () => releaseWith(release),
  };
}

const isColumns = (bundle: Bundle<ReconstructionManifest>): bundle is Bundle<ColumnsManifest> =>
  bundle.manifest.decoder.kind === 'columns';
