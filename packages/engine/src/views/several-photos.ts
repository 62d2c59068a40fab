import type { ViewSide } from '@gen3d/schema/rules';
import type { Cutout } from '../base/image.js';
import { columnsField } from '../field/columns.js';
import type { ColumnsPrediction } from '../field/columns-prediction.js';
import type { DensityField } from '../field/density-field.js';
import type { FramedCutout } from '../photo/frame.js';
import { bendViews } from './bend.js';
import { fittingViews } from './fitting-views.js';
import { fusedField } from './fuse.js';
import { type Completed, keepCuboid, keepRevolution } from './keep-completed.js';
import { type PreparedView, prepareView } from './prepared-view.js';
import { multiply, transpose, type ViewCamera } from './view-camera.js';

// From the cutouts of several photos of one object to one field: a network predicts each on its own, the cameras are
// found, photos that do not fit are left out, and the rest is fused.

/** A photo's object, cut out. */
export interface SideCutout {
  readonly side: 'front' | ViewSide;
  readonly cutout: FramedCutout;
  /** In pixels. */
  readonly photoWidth: number;
}

/** A photo that the model is made of, with its camera in the space of the front photo's. */
export interface UsedPhoto {
  readonly side: 'front' | ViewSide;
  readonly view: PreparedView;
  readonly camera: ViewCamera;
  /** Azimuth from the front photo, and the angle by which the camera looked down. */
  readonly yawRadians: number;
  readonly elevationRadians: number;
}

export interface FusedPhotos {
  readonly field: DensityField;
  /** Empty if only the front was used. */
  readonly used: readonly UsedPhoto[];
}

/** The turn from the front at which a photo of a side is expected, seen from above counterclockwise. */
const yawOfSide = { front: 0, left: -Math.PI / 2, back: Math.PI, right: Math.PI / 2 };

/**
 * @param cutouts the front first
 * @throws the signal's reason, once aborted
 */
export async function fusePhotos(
  predict: (cutout: Cutout) => Promise<ColumnsPrediction>,
  cutouts: readonly [SideCutout, ...SideCutout[]],
  signal?: AbortSignal,
): Promise<FusedPhotos> {
  const prepared: { side: SideCutout['side']; yaw: number; view: PreparedView }[] = [];
  for (const { side, cutout, photoWidth } of cutouts) {
    signal?.throwIfAborted();
    prepared.push({ side, yaw: yawOfSide[side], view: prepareView(cutout, photoWidth, await predict(cutout)) });
  }
  const { views, registration } = fittingViews(prepared, signal);
  if (!registration) return { field: columnsField(prepared[0]!.view.prediction), used: [] };
  const used = views.map(({ side, view }, i): UsedPhoto => {
    const camera = registration.cameras[i]!;
    return {
      ...{ side, view, camera: inFrontOf(registration.cameras[0]!, camera) },
      yawRadians: azimuthOf(camera) - azimuthOf(registration.cameras[0]!),
      elevationRadians: elevationOf(camera),
    };
  });
  const alone = columnsField(prepared[0]!.view.prediction);
  const completed = ({ field, cameras }: Completed): FusedPhotos => ({
    field,
    used: used.map((photo, i) => ({ ...photo, camera: cameras[i]! })),
  });
  const revolution = alone.completedAs === 'revolution' && (await keepRevolution(alone, used));
  if (revolution) return completed(revolution);
  signal?.throwIfAborted();
  const bent = bendViews(used);
  signal?.throwIfAborted();
  const fused = fusedField(bent, used[0]!.elevationRadians);
  const cuboid = alone.completedAs === 'cuboid' && (await keepCuboid(fused, used));
  return cuboid ? completed(cuboid) : { field: fused, used };
}

const azimuthOf = ({ rotation }: ViewCamera): number => Math.atan2(rotation[6]!, rotation[8]!);
const elevationOf = ({ rotation }: ViewCamera): number => Math.asin(rotation[7]!);

/** Turns a camera into the space of the front's, which is at [0, 0, distance] and looks at the origin. */
const inFrontOf = (front: ViewCamera, camera: ViewCamera): ViewCamera => ({
  ...camera,
  rotation: multiply(camera.rotation, transpose(front.rotation)),
});
