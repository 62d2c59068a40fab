import type { SamplerSettings } from '@gen3d/schema/rules';
import { frameScale } from './base/camera.js';
import type { Cutout } from './base/image.js';
import { type Bundle, builtInBundle } from './bundle/load-bundle.js';
import type { ReconstructionManifest } from './bundle/manifest.js';
import { fitCamera } from './camera/fit-camera.js';
import { boxedKind } from './field/boxed.js';
import { carve } from './field/carve.js';
import { columnsKind } from './field/columns.js';
import type { DecoderKind, EncodeOptions, FieldNetworks } from './field/decoder-kind.js';
import type { DensityField } from './field/density-field.js';
import { inflate } from './field/inflate.js';
import { stepsKind } from './flow/steps-kind.js';
import type { BundleCredit } from './gltf/write-glb.js';
import type { OpenSession } from './network/session.js';

/** Turns a framed cutout into a density field: a bundle of any decoder kind, or the one built in. */
export interface Reconstructor {
  /** Identify the weights in each GLB. The first is the bundle's own. */
  readonly credits: readonly [BundleCredit, ...BundleCredit[]];
  readonly foregroundRatio: number;
  /** Whether the network takes steps; see `DecoderKind`. */
  readonly inSteps: boolean;
  /** The manifest's settings, for a kind that takes steps. */
  readonly sampler?: Required<SamplerSettings> | undefined;
  /** @throws the signal's reason, once aborted */
  reconstruct(cutout: Cutout, options?: EncodeOptions): Promise<DensityField>;
  /** See `FieldNetworks`. Absent for kinds that use only the photo of the front. */
  readonly predict?: FieldNetworks['predict'];
  release(): Promise<void>;
}

/** If the outlines overlap by less, the camera is not the photo's, and carving would remove parts of the object. */
const minOverlap = 0.9;

const kinds: Record<ReconstructionManifest['decoder']['kind'], DecoderKind> = {
  columns: columnsKind,
  points: boxedKind,
  planes: boxedKind,
  steps: stepsKind,
};

export const kindOf = ({ manifest }: Bundle<ReconstructionManifest>): DecoderKind => kinds[manifest.decoder.kind];

export const inflateReconstructor: Reconstructor = {
  credits: [{ name: builtInBundle, license: 'MIT' }],
  foregroundRatio: 0.86,
  inSteps: false,
  async reconstruct(cutout, { signal } = {}) {
    signal?.throwIfAborted();
    return inflate(cutout);
  },
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
  const { name, license, input, origin, camera, upright = !camera } = bundle.manifest;
  const published = camera && {
    distance: camera.distance,
    halfTangent: Math.tan((camera.fovDegrees * Math.PI) / 360),
  };
  const { inSteps, carved, anyYaw, open: openNetworks } = kindOf(bundle);
  const { decoder } = bundle.manifest;
  const networks = await openNetworks(bundle, open);
  const guide = guideBundle && (await openReconstructor(guideBundle, open));
  const credit = {
    name,
    license: license.weights.license,
    ...(origin && { precision: origin.precision, checkpointSha256: origin.checkpoint.sha256 }),
  };
  return {
    credits: [credit, ...(guide?.credits ?? [])],
    foregroundRatio: input.foregroundRatio,
    inSteps,
    sampler: decoder.kind === 'steps' ? { seed: decoder.sampler.seed, steps: decoder.sampler.steps } : undefined,
    ...(networks.predict && { predict: networks.predict }),
    async reconstruct(cutout, options = {}) {
      const { signal } = options;
      signal?.throwIfAborted();
      const encoded = await networks.encode(cutout, options);
      if ('camera' in encoded) return encoded;
      const guided = await guide?.reconstruct(cutout);
      const placed = await fitCamera(encoded, cutout, { published, upright, anyYaw, guide: guided, signal });
      const colored = withColorsOf(guided, placed);
      return carved && (placed.overlap ?? 0) >= minOverlap ? carve(colored, cutout) : colored;
    },
    async release() {
      await networks.release();
      await guide?.release();
    },
  };
}

/**
 * Gives a field without colors those of another reconstructor's field of the same cutout, at the same position of the
 * image.
 *
 * @param guide a field whose colors depend only on that position, as those of `columns`
 */
export function withColorsOf(guide: DensityField | undefined, field: DensityField): DensityField {
  const colorsOf = guide?.evaluateColors?.bind(guide);
  if (!guide || !colorsOf || field.evaluateColors) return field;
  const halfWidth = guide.camera.distance * guide.camera.halfTangent;
  return {
    ...field,
    colorsRepeatFront: true,
    evaluateColors(points, colors) {
      // These points are on the plane through the guide's origin.
      const positions = new Float32Array(points.length);
      for (let p = 0; p < points.length; p += 3) {
        const scale = halfWidth / frameScale(field.camera, points[p + 2]!);
        positions[p] = points[p]! * scale;
        positions[p + 1] = points[p + 1]! * scale;
      }
      return colorsOf(positions, colors);
    },
  };
}
