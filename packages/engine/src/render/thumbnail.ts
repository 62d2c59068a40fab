import sharp from 'sharp';
import type { RgbaImage } from '../base/image.js';
import type { TexturedMesh } from '../base/mesh.js';
import { renderView } from './render-view.js';

const SIZE = 512;
/** Three-quarter view: enough of the side to show that it is solid, the photo's side still in front. */
const YAW_RADIANS = 0.56;
const PITCH_RADIANS = 0.3;

/** The picture of a model for a list or a shop: a JPEG of 512 x 512 pixels. */
export async function thumbnail(mesh: TexturedMesh, baseColor: RgbaImage): Promise<Uint8Array> {
  const { data, width, height } = renderView(mesh, baseColor, {
    width: SIZE,
    height: SIZE,
    yawRadians: YAW_RADIANS,
    pitchRadians: PITCH_RADIANS,
    supersample: 3,
  });
  // 4:4:4, since thumbnails are all edges and halving the colours' resolution shows at each of them.
  return sharp(data, { raw: { width, height, channels: 4 } })
    .removeAlpha()
    .jpeg({ quality: 88, chromaSubsampling: '4:4:4' })
    .toBuffer();
}
