import type { ModelContent } from './model-parts.js';
import type { ModelOptions } from './options.js';
import type { Extent } from './place-model.js';
import type { DecodeTexture } from './ply.js';

/** Options that change a GLB without converting it. */
export type GlbOptions = {
  readonly [name in 'size' | 'triangles' | 'texture' | 'textureFormat' | 'compress']?: ModelOptions[name] | undefined;
};

export interface GlbFigures {
  readonly triangles: number;
  /** The longest side of the largest texture in pixels, or 0 without textures. */
  readonly texture: number;
  readonly bytes: number;
}

export interface AdjustedGlb {
  readonly glb: Uint8Array;
  readonly before: GlbFigures;
  readonly after: GlbFigures;
  /** The new size in meters. */
  readonly extent: Extent;
}

export type AdjustGlb = (glb: Uint8Array, options: GlbOptions) => Promise<AdjustedGlb>;

/** Functions that Node and browsers implement differently. In Node, use `nodeTools`. */
export interface ModelTools {
  /** Only PLY needs it: its vertices have the colors of the texture. */
  readonly decodeTexture: DecodeTexture;
  /** Makes the PNG that file managers and slicers show for a 3MF. */
  readonly renderThumbnail?: (model: ModelContent) => Promise<Uint8Array>;
  /** GLBs and the options for triangles, textures and compression need it, and so do compressed GLBs. */
  readonly adjustGlb?: AdjustGlb;
}
