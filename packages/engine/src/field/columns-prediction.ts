import type { ReconstructionManifest } from '../bundle/manifest.js';

export type ColumnsDecoder = Extract<ReconstructionManifest['decoder'], { kind: 'columns' }>;
export type ColumnsManifest = ReconstructionManifest & {
  readonly decoder: ColumnsDecoder;
  readonly camera: NonNullable<ReconstructionManifest['camera']>;
};

/**
 * The prediction of a network for one photo, cleaned. A field is made from it. C is `size`; finer channels have
 * `outlineSize` pixels a side.
 */
export interface ColumnsPrediction {
  readonly manifest: ColumnsManifest;
  readonly size: number;
  /** [C·C] and [outlineSize²] coverage in 0..1. */
  readonly coarseMatte: Float32Array;
  readonly fineMatte: Float32Array;
  /** [C·C] and [outlineSize²], -1 (near face of the box) .. 1 (far face). */
  readonly frontDepth: Float32Array;
  readonly front: Float32Array;
  /** [steps·C·C] logits. */
  readonly occupancy: Float32Array;
  /** [3·C·C] sRGB in 0..1. */
  readonly backColor: Float32Array | undefined;
  readonly elevationRadians: number | undefined;
  /** [outlineSize²] distance inside the photo's outline in pixels, as it is and with thin parts widened. */
  readonly photographed: Float32Array;
  readonly widened: Float32Array;
}
