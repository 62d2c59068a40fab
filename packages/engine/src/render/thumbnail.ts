import type { RgbaImage } from '../base/image.js';
import type { TexturedMesh } from '../base/mesh.js';
import { sharp } from '../base/sharp.js';
import { renderView } from './render-view.js';

const size = 512;
/** A three-quarter view: it shows the depth of the object and mainly the photo's side. */
const yawRadians = 0.56;
const pitchRadians = 0.3;

/** Renders a model for lists: a JPEG of 512 x 512 pixels. */
export async function thumbnail(mesh: TexturedMesh, baseColor: RgbaImage): Promise<Uint8Array> {
  const { data, width, height } = renderView(mesh, baseColor, {
    width: size,
    height: size,
    yawRadians: yawRadians,
    pitchRadians: pitchRadians,
    supersample: 2,
  });
  // 4:4:4, since halving the colors' resolution is visible at edges, and a thumbnail has many.
  return sharp(data, { raw: { width, height, channels: 4 } })
    .removeAlpha()
    .jpeg({ quality: 88, chromaSubsampling: '4:4:4' })
    .toBuffer();
}
