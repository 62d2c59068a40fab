import { digitalSourceXmp } from '../base/digital-source.js';
import { byteOfLinear, type RgbaImage } from '../base/image.js';
import type { TexturedMesh } from '../base/mesh.js';
import { sharp } from '../base/sharp.js';
import { type Raster, rasterize } from './rasterize.js';
import { ObjectShader } from './shade.js';
import { floorShare, type Studio, setUpStudio } from './studio.js';
import { orbitView, type View } from './view.js';

export interface RenderOptions {
  readonly width: number;
  readonly height: number;
  /** The angle around the Y axis: 0 shows the front (+Z), a quarter turn the +X side, and a half turn the back. */
  readonly yawRadians: number;
  /** The angle above the horizon. */
  readonly pitchRadians: number;
  /** Samples per pixel along each axis: 1 is jagged, 2 is good for display. */
  readonly supersample: number;
}

/** A portrait lens: a wider one makes a handheld object look like a building. */
const fovRadians = 0.42;
const margin = 0.13;

/** Pixels a side of the blocks for which light is gathered once. Gathering it for each pixel takes 3 times as long. */
const lightBlock = 2;

const backdropTop = 0.8;
const backdropBottom = 0.9;

export interface RenderedView extends RgbaImage {
  /** The picture without the backdrop, as RGBA: the object, and its shadow as transparent black. */
  readonly cutout: Uint8Array;
}

/**
 * Renders a model in a small studio: soft light, a contact shadow on a light seamless backdrop, the whole object in the
 * frame. `baseColor` is the texture, v DOWN. The image is opaque.
 */
export function renderView(mesh: TexturedMesh, baseColor: RgbaImage, options: RenderOptions): RenderedView {
  const { width, height, yawRadians, pitchRadians, supersample } = options;
  const fine = orbitView(mesh.positions, {
    width: width * supersample,
    height: height * supersample,
    yawRadians,
    pitchRadians,
    fovRadians,
    margin,
  });
  const raster = rasterize(mesh, fine);
  const studio = setUpStudio(mesh, yawRadians);
  const shader = new ObjectShader(mesh, baseColor, raster, studio, lightBlock * supersample);
  return develop(shader, raster, fine, studio, options);
}

/** Averages the samples of each pixel over the backdrop, in linear light. */
function develop(
  shader: ObjectShader,
  raster: Raster,
  fine: View,
  studio: Studio,
  options: RenderOptions,
): RenderedView {
  const { width, height, supersample } = options;
  const samples = supersample * supersample;
  const data = new Uint8Array(4 * width * height);
  const cutout = new Uint8Array(4 * width * height);
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      let red = 0;
      let green = 0;
      let blue = 0;
      let free = samples;
      for (let fineRow = row * supersample; fineRow < (row + 1) * supersample; fineRow++) {
        const first = fineRow * raster.width + column * supersample;
        for (let sample = first; sample < first + supersample; sample++) {
          if (raster.triangle[sample]! < 0) continue;
          free--;
          shader.shade(sample);
          red += shader.color[0]!;
          green += shader.color[1]!;
          blue += shader.color[2]!;
        }
      }
      const y = (row + 0.5) * supersample;
      const share = free > 0 ? lightShare(fine, studio, (column + 0.5) * supersample, y) : 1;
      // The paper behind and under the object is lighter toward the bottom.
      const behind = free * share * (backdropTop + ((backdropBottom - backdropTop) * y) / fine.height);
      const pixel = 4 * (row * width + column);
      data[pixel] = byteOfLinear((red + behind) / samples);
      data[pixel + 1] = byteOfLinear((green + behind) / samples);
      data[pixel + 2] = byteOfLinear((blue + behind) / samples);
      data[pixel + 3] = 255;
      const covered = samples - free;
      // Compositing is usually done on sRGB bytes, so the shadow's opacity is computed for these.
      const alpha = (255 * covered + free * (255 - byteOfLinear(share))) / samples;
      cutout[pixel + 3] = Math.round(alpha);
      if (covered === 0) continue;
      const opacity = (255 * covered) / (samples * alpha);
      cutout[pixel] = opacity * byteOfLinear(red / covered);
      cutout[pixel + 1] = opacity * byteOfLinear(green / covered);
      cutout[pixel + 2] = opacity * byteOfLinear(blue / covered);
    }
  }
  return { width, height, data, cutout };
}

/**
 * Computes the share of light, 0..1, that reaches the floor at a point of the supersampled image; 1 above the horizon.
 */
function lightShare(
  { eye, rotation, focalLength, principalPoint }: View,
  studio: Studio,
  x: number,
  y: number,
): number {
  const right = (x - principalPoint[0]) / focalLength;
  const up = (principalPoint[1] - y) / focalLength;
  const down = rotation[7] - right * rotation[1] - up * rotation[4];
  if (down <= 0 || eye[1] <= 0) return 1;
  const distance = eye[1] / down;
  const floorX = eye[0] + distance * (right * rotation[0] + up * rotation[3] - rotation[6]);
  const floorZ = eye[2] + distance * (right * rotation[2] + up * rotation[5] - rotation[8]);
  return floorShare(studio.floor, floorX, floorZ);
}

const thumbnailSize = 512;
/** A three-quarter view: it shows the depth of the object and mainly the photo's side. */
const thumbnailView = { yawRadians: 0.56, pitchRadians: 0.3 };

export interface Thumbnails {
  /** The model on a light backdrop. */
  readonly jpeg: Uint8Array;
  /** The model on a transparent background, for dark pages. */
  readonly webp: Uint8Array;
}

/** Renders a model for lists: an image of 512 x 512 pixels. */
export const renderThumbnail = (mesh: TexturedMesh, baseColor: RgbaImage): RenderedView =>
  renderView(mesh, baseColor, { width: thumbnailSize, height: thumbnailSize, ...thumbnailView, supersample: 2 });

/** Encodes a thumbnail, marked as made by a network. */
export async function encodeThumbnail({ data, cutout, width, height }: RenderedView): Promise<Thumbnails> {
  // 4:4:4, since halving the colors' resolution is visible at edges, and a thumbnail has many. WebP with the default
  // effort of 4 takes twice as long and is an eighth smaller.
  const raw = { width, height, channels: 4 } as const;
  const [jpeg, webp] = await Promise.all([
    sharp(data, { raw })
      .removeAlpha()
      .jpeg({ quality: 88, chromaSubsampling: '4:4:4' })
      .withXmp(digitalSourceXmp)
      .toBuffer(),
    sharp(cutout, { raw }).webp({ quality: 88, smartSubsample: true, effort: 2 }).withXmp(digitalSourceXmp).toBuffer(),
  ]);
  return { jpeg, webp };
}
