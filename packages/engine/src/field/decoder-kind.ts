import type { SamplerSettings } from '@gen3d/schema/rules';
import type { Cutout } from '../base/image.js';
import type { Bundle } from '../bundle/load-bundle.js';
import type { ReconstructionManifest } from '../bundle/manifest.js';
import type { FloatTensor, OpenSession, Session } from '../network/session.js';
import type { ColumnsPrediction } from './columns-prediction.js';
import type { CameralessField, DensityField } from './density-field.js';

/**
 * Turns the cutout of a photo into a density field, as bundles of one kind do. The engine knows kinds only by this
 * interface; `reconstructor.ts` lists them. `reconstructor.system.test.ts` runs the same tests for each.
 *
 * States: `open` loads and checks every graph of the bundle. Its networks then encode any number of cutouts, also
 * concurrently, until they are released.
 *
 * The field has a value above its threshold inside the object and below it outside `bounds`, and never NaN. The same
 * cutout gives the same field, except for the rounding of the device. It stays valid until the networks are released.
 *
 * Errors: a `BundleError` if a graph does not fit the manifest or another graph, an `EngineError` if the network fails
 * on the photo, and the signal's reason once it is aborted. Others, such as running out of memory, are passed on.
 */
export interface DecoderKind {
  /** Whether nearly all of the time goes into `encode`, which then reports its progress. */
  readonly inSteps: boolean;
  /** Whether the network knows the outline only roughly, so that everything outside the photo's is removed. */
  readonly carved: boolean;
  /** Whether objects are turned as in the training data, not as the photo shows them. */
  readonly anyYaw: boolean;
  open(bundle: Bundle<ReconstructionManifest>, open?: OpenSession): Promise<FieldNetworks>;
  /**
   * Runs each graph once, in a fixed order, to compare devices. Releases what it opens.
   *
   * @param image the test image as the encoder's input
   * @param run runs a graph, and returns the outputs from which to make the next graph's inputs
   */
  exercise(bundle: Bundle<ReconstructionManifest>, open: OpenSession, image: Inputs, run: RunGraph): Promise<void>;
}

export type Inputs = Readonly<Record<string, FloatTensor>>;
export type RunGraph = (session: Session, inputs: Inputs) => Promise<ReadonlyMap<string, Float32Array>>;

/** Holds the loaded networks of a bundle. */
export interface FieldNetworks {
  /** @returns a field in the camera's space, or without a camera if the network does not assume one */
  encode(cutout: Cutout, options?: EncodeOptions): Promise<CameralessField | DensityField>;
  /** Predicts what one of several photos of an object shows, for kinds whose predictions can be fused. */
  predict?(cutout: Cutout): Promise<ColumnsPrediction>;
  release(): Promise<void>;
}

export interface EncodeOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called with the increasing share of the steps done, 0..1, by kinds that take steps. */
  readonly onProgress?: ((share: number) => void) | undefined;
  /** Replaces the manifest's settings, for kinds that take steps. */
  readonly sampler?: Required<SamplerSettings> | undefined;
}

/** Points or rows for a decoder in a comparison of devices, unless its graph requires another number. */
export const exercisedRows = 4096;

/** Pseudo-random numbers in 0..1, the same in every run. @see Numerical Recipes, 2nd edition, section 7.1 */
export function randomNumbers(): () => number {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
