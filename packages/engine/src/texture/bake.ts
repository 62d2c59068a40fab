import type { Camera } from '../base/camera.js';
import type { Cutout, RgbaImage } from '../base/image.js';
import { sampleBilinear, smoothStep } from '../base/interpolation.js';
import type { TexturedMesh, TriangleMesh } from '../base/mesh.js';
import { byteOfLinear, type LinearImage, linearImage, linearOfSrgb } from '../base/srgb.js';
import { type DepthMap, rasterize, visibleShare } from '../render/rasterize.js';
import { photoView, projectPoints } from '../render/view.js';
import { type MirrorPlane, reflect } from '../surface/mirror.js';
import { fillUnlit } from './fill-unlit.js';
import { padSeams } from './pad-seams.js';
import { type Texels, texelsOf } from './texels.js';

/** Pixels a side of the depth map for visibility in the photo. */
const depthMapSize = 1024;

/** A point this far behind the nearest surface, as a share of the object's size, still counts as visible. */
const depthBias = 0.012;

/** The same for a mirrored point. It is larger because the two sides are only nearly mirror images. */
const mirroredDepthBias = 0.03;

/** In sRGB values of 0..1. The two sides are lit differently even if their colors are equal. */
const maxMirroredDifference = 0.16;

/** How fast corrections of colors fade with the distance from the visible surface. */
const correctionFade = 0.01;

export interface BakeOptions {
  /** Pixels a side of the texture. */
  readonly textureSize: number;
  /** [3·V] the reconstructor's guess for the vertices of the closed mesh, sRGB in 0..1. */
  readonly decoderColors?: Float32Array | undefined;
  /** Planes in which the shape is nearly its own mirror image, the best first. */
  readonly mirrors?: readonly MirrorPlane[];
}

/**
 * Makes the base color texture, in this order of preference:
 *
 * 1. The photo where it shows the surface, fading out at grazing angles.
 * 2. For a symmetric object, the photo of the other side, corrected to meet the photo without a step. It shows details
 *    on the far side, such as the wheels of the truck in `examples/photos`. The mean color error of the quality
 *    benchmark is the same without it (0.132; 0.133 with it, 48 photos).
 * 3. The decoder's colors, if it has any, corrected in the same way.
 * 4. On the far side, the photo as if seen through the object; between the sides, where that would smear edge pixels,
 *    colors spread along the surface.
 *
 * All mixing is done in linear light.
 *
 * @param mesh unwrapped, in the camera's space
 * @param closed the same surface before its seams were split, in the same space
 */
export function bake(
  mesh: TexturedMesh,
  closed: TriangleMesh,
  closedNormals: Float32Array,
  cutout: Cutout,
  camera: Camera,
  { textureSize, decoderColors, mirrors = [] }: BakeOptions,
): RgbaImage {
  const map = rasterize(closed, photoView(camera, depthMapSize));
  const size = camera.distance * camera.halfTangent * 2;
  const look = (positions: Float32Array, normals: Float32Array, bias: number) =>
    projected(positions, normals, camera, map, bias * size);
  const lookMirrored = (mirrorPlane: MirrorPlane, positions: Float32Array, normals: Float32Array) =>
    look(reflect(mirrorPlane, positions), reflect({ ...mirrorPlane, offset: 0 }, normals), mirroredDepthBias);
  const photo = linearImage(cutout.image);
  const behind = blur(photo);

  const vertices = look(closed.positions, closedNormals, depthBias);
  const seenColors = sampleAll(photo, vertices);
  const mirror = mirrors
    .map((mirrorPlane) => {
      const across = lookMirrored(mirrorPlane, closed.positions, closedNormals);
      const colors = sampleAll(photo, across);
      return { mirrorPlane, across, colors, difference: mirroredDifference(vertices, seenColors, across, colors) };
    })
    .filter(({ difference }) => difference < maxMirroredDifference)
    .sort((a, b) => a.difference - b.difference)[0];

  // The known colors of the vertices: the photo's, then those of the other side, corrected to match them.
  let [known, seen, shift] = [seenColors, vertices.seen, undefined as Float32Array | undefined];
  if (mirror) {
    const { across, colors } = mirror;
    const both = vertices.seen.map((own, i) => own * across.seen[i]!);
    const difference = spreadDifference(closed, seenColors, colors, both);
    seen = vertices.seen.map((own, i) => Math.max(own, across.seen[i]!));
    known = seenColors.map((color, i) => {
      const vertex = Math.floor(i / 3);
      const own = vertices.seen[vertex]! / Math.max(seen[vertex]!, 1e-6);
      return own * color + (1 - own) * (colors[i]! + difference[i]!);
    });
    shift = difference;
  }
  const spread = decoderColors
    ? corrected(closed, decoderColors.map(linearOfSrgb), known, seen)
    : fillUnlit(closed, {
        colors: known,
        seen,
        guesses: sampleAll(behind, vertices),
        trust: vertices.away.map((away) => 0.2 * away),
      });

  const texels = texelsOf(mesh, closed, shift ? sideBySide(spread, shift) : spread, textureSize);
  const channels = shift ? 6 : 3;
  const surface = look(texels.positions, texels.normals, depthBias);
  const other = mirror && lookMirrored(mirror.mirrorPlane, texels.positions, texels.normals);
  const colors = new Float32Array(3 * texels.count);
  for (let i = 0; i < texels.count; i++) {
    const [x, y] = [surface.photoX[i]!, surface.photoY[i]!];
    const own = surface.seen[i]!;
    const mirrored = other ? other.seen[i]! * (1 - own) : 0;
    const away = decoderColors ? 0 : surface.away[i]! * (1 - own - mirrored);
    const rest = 1 - own - mirrored - away;
    for (let c = 0; c < 3; c++) {
      let color = rest * texels.values[channels * i + c]!;
      if (own > 0) color += own * sample(photo, x, y, c);
      if (away > 0) color += away * sample(behind, x, y, c);
      if (mirrored > 0) {
        const from = sample(photo, other!.photoX[i]!, other!.photoY[i]!, c);
        color += mirrored * Math.max(from + texels.values[channels * i + 3 + c]!, 0);
      }
      colors[3 * i + c] = color;
    }
  }
  return toImage(texels, colors, textureSize);
}

/**
 * The mean difference of the colors of the two sides where the photo shows both, as sRGB in 0..1, because a shape can
 * be symmetric by chance. If the photo shows little of the second side, the plane is accepted narrowly.
 */
function mirroredDifference(
  own: Projected,
  ownColors: Float32Array,
  across: Projected,
  acrossColors: Float32Array,
): number {
  let [sum, pairs] = [0, 0];
  for (let vertex = 0; vertex < own.seen.length; vertex++) {
    if (own.seen[vertex]! < 0.5 || across.seen[vertex]! < 0.5) continue;
    // Near the plane, a vertex and its mirror image coincide.
    const offset = Math.hypot(
      own.photoX[vertex]! - across.photoX[vertex]!,
      own.photoY[vertex]! - across.photoY[vertex]!,
    );
    if (offset < 0.04) continue;
    pairs++;
    for (let c = 0; c < 3; c++) {
      // The square root approximates sRGB's curve, and so the perceived difference.
      sum += Math.abs(Math.sqrt(ownColors[3 * vertex + c]!) - Math.sqrt(acrossColors[3 * vertex + c]!)) / 3;
    }
  }
  return pairs < 24 ? 0.9 * maxMirroredDifference : sum / pairs;
}

/** `to` minus `from`, [3·V], where `known` [V], spread over the rest and fading with the distance. */
function spreadDifference(mesh: TriangleMesh, to: Float32Array, from: Float32Array, known: Float32Array) {
  return fillUnlit(mesh, {
    colors: to.map((color, i) => color - from[i]!),
    seen: known,
    guesses: new Float32Array(to.length),
    trust: new Float32Array(known.length).fill(correctionFade),
  });
}

/** Joins two lists of three numbers per vertex into one of six. */
function sideBySide(a: Float32Array, b: Float32Array): Float32Array {
  const joined = new Float32Array(2 * a.length);
  for (let i = 0; i < a.length; i += 3) {
    joined.set(a.subarray(i, i + 3), 2 * i);
    joined.set(b.subarray(i, i + 3), 2 * i + 3);
  }
  return joined;
}

/**
 * The decoder's colors plus a correction: their difference from the photo's colors, where it shows the surface, spread
 * over the rest. So there is no step at the border, and the decoder's own pattern stays.
 */
function corrected(mesh: TriangleMesh, decoder: Float32Array, seenColors: Float32Array, seen: Float32Array) {
  const correction = spreadDifference(mesh, seenColors, decoder, seen);
  return correction.map((value, i) => Math.min(Math.max(decoder[i]! + value, 0), 1));
}

interface Projected {
  /** Position in the photo's frame, 0..1 from the left and from the top. */
  readonly photoX: Float32Array;
  readonly photoY: Float32Array;
  /** Visibility in the photo: 0 hidden or edge-on, 1 fully visible. */
  readonly seen: Float32Array;
  /** How directly the surface faces away from the camera, 0..1. */
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
    photoX: new Float32Array(count),
    photoY: new Float32Array(count),
    seen: new Float32Array(count),
    away: new Float32Array(count),
  };
  for (let i = 0; i < count; i++) {
    const p = 3 * i;
    const [x, y, z] = [positions[p]!, positions[p + 1]!, camera.distance - positions[p + 2]!];
    const cosine = (normals[p + 2]! * z - normals[p]! * x - normals[p + 1]! * y) / Math.hypot(x, y, z);
    result.photoX[i] = pixels[p]! / map.width;
    result.photoY[i] = pixels[p + 1]! / map.height;
    const facing = smoothStep(0.12, 0.4, cosine);
    if (facing > 0) result.seen[i] = facing * visibleShare(map, pixels[p]!, pixels[p + 1]!, pixels[p + 2]! - bias);
    result.away[i] = smoothStep(0.25, 0.65, -cosine);
  }
  return result;
}

/**
 * The photo at about 160 pixels a side, for the far side, which seldom repeats details of the front (a label, a lens, a
 * face) but nearly always its colors.
 */
function blur({ width: size, data }: LinearImage): LinearImage {
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
  return { width: small, height: small, data: blurred };
}

/** @param x and `y` in 0..1 */
const sample = ({ width, height, data }: LinearImage, x: number, y: number, channel: number): number =>
  sampleBilinear(data, width, height, x * width - 0.5, y * height - 0.5, 3, channel);

function sampleAll(image: LinearImage, { photoX, photoY }: Projected): Float32Array {
  const colors = new Float32Array(3 * photoX.length);
  for (let i = 0; i < colors.length; i++) {
    const at = Math.floor(i / 3);
    colors[i] = sample(image, photoX[at]!, photoY[at]!, i % 3);
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
