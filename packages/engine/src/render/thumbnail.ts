import type { RgbaImage } from '../base/image.js';
import type { TexturedMesh } from '../base/mesh.js';
import { sharp } from '../base/sharp.js';
import { renderView } from './render-view.js';

const size = 512;
/** A three-quarter view: it shows the depth of the object and mainly the photo's side. */
const yawRadians = 0.56;
const pitchRadians = 0.3;

export interface Thumbnails {
  /** The model on a light backdrop. */
  readonly jpeg: Uint8Array;
  /** The model on a transparent background, for dark pages. */
  readonly webp: Uint8Array;
}

/** Renders a model for lists: images of 512 x 512 pixels. */
export async function renderThumbnails(mesh: TexturedMesh, baseColor: RgbaImage): Promise<Thumbnails> {
  const { data, cutout, width, height } = renderView(mesh, baseColor, {
    width: size,
    height: size,
    yawRadians,
    pitchRadians,
    supersample: 2,
  });
  // 4:4:4, since halving the colors' resolution is visible at edges, and a thumbnail has many.
  const raw = { width, height, channels: 4 } as const;
  const [jpeg, webp] = await Promise.all([
    sharp(data, { raw }).removeAlpha().jpeg({ quality: 88, chromaSubsampling: '4:4:4' }).toBuffer(),
    sharp(cutout, { raw }).webp({ quality: 88, smartSubsample: true }).toBuffer(),
  ]);
  return { jpeg, webp };
}
