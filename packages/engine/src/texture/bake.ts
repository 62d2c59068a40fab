import type { Camera } from '../camera.js';
import type { Cutout, RgbaImage } from '../photo/image.js';
import { rasterise } from '../render/rasterise.js';
import { photoView, projectPoints } from '../render/view.js';
import { type DepthMap, visibleShare } from '../render/visibility.js';
import type { TexturedMesh, TriangleMesh } from '../surface/mesh.js';
import { fillUnseen } from './fill-unseen.js';
import { padSeams } from './pad-seams.js';
import { byteOfLinear, linearOfByte, linearOfSrgb } from './srgb.js';
import { type Texels, texelsOf } from './texels.js';

/** Pixels a side of the depth map that decides what the photo saw. */
const depthMapSize = 1024;

/** A point this far behind the nearest surface, as a share of the object's size, still counts as seen. */
const depthBias = 0.012;

/** How fast what the decoder's colours are corrected by fades with the distance from what the photo saw. */
const correctionFade = 0.01;

/**
 * Makes the base color texture: the photo where the photo saw the surface, fading out where it only grazed it. Elsewhere
 * the decoder's colours, where it has any, corrected so that they meet the photo's. Otherwise the photo seen through
 * from behind on the far side; and in between, where either would be a smear of edge pixels, colours spread along the
 * surface. All mixing is done in linear light.
 *
 * @param mesh unwrapped, in the camera's space
 * @param closed the same surface before its seams were split, in the same space
 * @param decoderColors [3·V] for the vertices of `closed`, sRGB in 0..1
 */
export function bake(
  mesh: TexturedMesh,
  closed: TriangleMesh,
  closedNormals: Float32Array,
  cutout: Cutout,
  camera: Camera,
  textureSize: number,
  decoderColors?: Float32Array,
): RgbaImage {
  const map = rasterise(closed, photoView(camera, depthMapSize));
  const bias = depthBias * camera.distance * camera.halfTangent * 2;
  const photo = linearPhoto(cutout.image);
  const behind = blur(photo);

  const vertices = projected(closed.positions, closedNormals, camera, map, bias);
  const seenColors = sampleAll(photo, vertices.pictureX, vertices.pictureY);
  const spread = decoderColors
    ? corrected(closed, decoderColors.map(linearOfSrgb), seenColors, vertices.seen)
    : fillUnseen(closed, {
        colors: seenColors,
        seen: vertices.seen,
        guesses: sampleAll(behind, vertices.pictureX, vertices.pictureY),
        trust: vertices.away.map((away) => 0.2 * away),
      });

  const texels = texelsOf(mesh, closed, spread, textureSize);
  const surface = projected(texels.positions, texels.normals, camera, map, bias);
  const colors = new Float32Array(3 * texels.count);
  for (let i = 0; i < texels.count; i++) {
    const [x, y] = [surface.pictureX[i]!, surface.pictureY[i]!];
    const seen = surface.seen[i]!;
    const away = decoderColors ? 0 : surface.away[i]! * (1 - seen);
    for (let c = 0; c < 3; c++) {
      const rest = 1 - seen - away;
      colors[3 * i + c] =
        (seen > 0 ? seen * sample(photo, x, y, c) : 0) +
        (away > 0 ? away * sample(behind, x, y, c) : 0) +
        rest * texels.colors[3 * i + c]!;
    }
  }
  return toImage(texels, colors, textureSize);
}

/**
 * The decoder's colours plus a correction: what they differ from the photo's by, where it saw the surface, spread over
 * the rest. So there is no step at the border, and the decoder's own pattern stays.
 */
function corrected(mesh: TriangleMesh, decoder: Float32Array, seenColors: Float32Array, seen: Float32Array) {
  const correction = fillUnseen(mesh, {
    colors: seenColors.map((color, i) => color - decoder[i]!),
    seen,
    guesses: new Float32Array(decoder.length),
    trust: new Float32Array(seen.length).fill(correctionFade),
  });
  return correction.map((value, i) => Math.min(Math.max(decoder[i]! + value, 0), 1));
}

interface Projected {
  /** Where on the photo's frame, 0..1 from the left and from the top. */
  readonly pictureX: Float32Array;
  readonly pictureY: Float32Array;
  /** How far the photo can be trusted there: 0 hidden or edge-on, 1 in plain sight. */
  readonly seen: Float32Array;
  /** How squarely the surface faces away from the camera, 0..1. */
  readonly away: Float32Array;
}

function projected(
  positions: Float32Array,
  normals: Float32Array,
  camera: Camera,
  map: DepthMap,
  bias: number,
): Projected {
  const count = positions.length / 3;
  const pixels = projectPoints(photoView(camera, map.width), positions);
  const result = {
    pictureX: new Float32Array(count),
    pictureY: new Float32Array(count),
    seen: new Float32Array(count),
    away: new Float32Array(count),
  };
  for (let i = 0; i < count; i++) {
    const p = 3 * i;
    const [x, y, z] = [positions[p]!, positions[p + 1]!, camera.distance - positions[p + 2]!];
    const cosine = (normals[p + 2]! * z - normals[p]! * x - normals[p + 1]! * y) / Math.hypot(x, y, z);
    result.pictureX[i] = pixels[p]! / map.width;
    result.pictureY[i] = pixels[p + 1]! / map.height;
    const facing = smoothStep(0.12, 0.4, cosine);
    if (facing > 0) result.seen[i] = facing * visibleShare(map, pixels[p]!, pixels[p + 1]!, pixels[p + 2]! - bias);
    result.away[i] = smoothStep(0.25, 0.65, -cosine);
  }
  return result;
}

/** A square picture in linear light: `data` is [3·size·size], the channels of a pixel side by side. */
interface LinearImage {
  readonly size: number;
  readonly data: Float32Array;
}

function linearPhoto({ width, data }: RgbaImage): LinearImage {
  const linear = new Float32Array(3 * width * width);
  for (let i = 0; i < width * width; i++) {
    for (let c = 0; c < 3; c++) linear[3 * i + c] = linearOfByte[data[4 * i + c]!]!;
  }
  return { size: width, data: linear };
}

/**
 * The photo at about 160 pixels a side. The far side of a thing is seldom its front in detail (a label, a lens, a
 * face), but nearly always of its colours.
 */
function blur({ size, data }: LinearImage): LinearImage {
  const step = Math.max(1, Math.round(size / 160));
  const small = Math.floor(size / step);
  const blurred = new Float32Array(3 * small * small);
  for (let y = 0; y < small; y++) {
    for (let x = 0; x < small; x++) {
      for (let c = 0; c < 3; c++) {
        let sum = 0;
        for (let dy = 0; dy < step; dy++) {
          for (let dx = 0; dx < step; dx++) sum += data[3 * ((y * step + dy) * size + x * step + dx) + c]!;
        }
        blurred[3 * (y * small + x) + c] = sum / (step * step);
      }
    }
  }
  return { size: small, data: blurred };
}

/** Bilinear, clamped; x and y in 0..1. */
function sample({ size, data }: LinearImage, x: number, y: number, channel: number): number {
  const px = Math.min(Math.max(x * size - 0.5, 0), size - 1.001);
  const py = Math.min(Math.max(y * size - 0.5, 0), size - 1.001);
  const [x0, y0] = [Math.floor(px), Math.floor(py)];
  const [fx, fy] = [px - x0, py - y0];
  const i = 3 * (y0 * size + x0) + channel;
  const top = data[i]! * (1 - fx) + data[i + 3]! * fx;
  const bottom = data[i + 3 * size]! * (1 - fx) + data[i + 3 * size + 3]! * fx;
  return top * (1 - fy) + bottom * fy;
}

function sampleAll(image: LinearImage, x: Float32Array, y: Float32Array): Float32Array {
  const colors = new Float32Array(3 * x.length);
  for (let i = 0; i < colors.length; i++) {
    const at = Math.floor(i / 3);
    colors[i] = sample(image, x[at]!, y[at]!, i % 3);
  }
  return colors;
}

function toImage(texels: Texels, colors: Float32Array, size: number): RgbaImage {
  const filled = padSeams(texels.pixels, colors, size);
  const data = new Uint8Array(4 * size * size);
  for (let i = 0; i < size * size; i++) {
    for (let c = 0; c < 3; c++) data[4 * i + c] = byteOfLinear(filled[3 * i + c]!);
    data[4 * i + 3] = 255;
  }
  return { width: size, height: size, data };
}

function smoothStep(from: number, to: number, value: number): number {
  const t = Math.min(Math.max((value - from) / (to - from), 0), 1);
  return t * t * (3 - 2 * t);
}
