import type { Camera } from '../base/camera.js';
import type { Cutout, RgbaImage } from '../base/image.js';
import type { TexturedMesh, TriangleMesh } from '../base/mesh.js';
import { byteOfLinear, linearOfByte, linearOfSrgb } from '../base/srgb.js';
import { rasterise } from '../render/rasterise.js';
import { photoView, projectPoints } from '../render/view.js';
import { type DepthMap, visibleShare } from '../render/visibility.js';
import { type Plane, reflect } from '../surface/mirror.js';
import { fillUnseen } from './fill-unseen.js';
import { padSeams } from './pad-seams.js';
import { type Texels, texelsOf } from './texels.js';

/** Pixels a side of the depth map that decides what the photo saw. */
const depthMapSize = 1024;

/** A point this far behind the nearest surface, as a share of the object's size, still counts as seen. */
const depthBias = 0.012;

/** The same for a point mirrored to the other side: that side is only nearly its mirror image. */
const mirroredDepthBias = 0.03;

/** Of sRGB values in 0..1: light falls differently on the two sides, paint does not. */
const greatestMirroredDifference = 0.16;

/** How fast what the decoder's colours are corrected by fades with the distance from what the photo saw. */
const correctionFade = 0.01;

export interface BakeOptions {
  /** Pixels a side of the texture. */
  readonly textureSize: number;
  /** [3·V] for the vertices of the closed mesh, sRGB in 0..1: what the reconstructor takes them for. */
  readonly decoderColors?: Float32Array | undefined;
  /** Planes across which the object may be its own mirror image, as far as its shape tells, the likelier first. */
  readonly mirrors?: readonly Plane[];
}

/**
 * Makes the base color texture: the photo where the photo saw the surface, fading out where it only grazed it. Elsewhere,
 * of a symmetric object, what the photo saw on the other side, corrected so that it meets the photo without a step.
 * Elsewhere the decoder's colours, where it has any, corrected alike. Otherwise the photo seen through from behind on the
 * far side; and in between, where either would be a smear of edge pixels, colours spread along the surface. All mixing is
 * done in linear light.
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
  const map = rasterise(closed, photoView(camera, depthMapSize));
  const size = camera.distance * camera.halfTangent * 2;
  const look = (positions: Float32Array, normals: Float32Array, bias: number) =>
    projected(positions, normals, camera, map, bias * size);
  const lookAcross = (plane: Plane, positions: Float32Array, normals: Float32Array) =>
    look(reflect(plane, positions), reflect({ ...plane, offset: 0 }, normals), mirroredDepthBias);
  const photo = linearPhoto(cutout.image);
  const behind = blur(photo);

  const vertices = look(closed.positions, closedNormals, depthBias);
  const seenColors = sampleAll(photo, vertices);
  const mirror = mirrors
    .map((plane) => {
      const across = lookAcross(plane, closed.positions, closedNormals);
      const colors = sampleAll(photo, across);
      return { plane, across, colors, difference: mirroredDifference(vertices, seenColors, across, colors) };
    })
    .filter(({ difference }) => difference < greatestMirroredDifference)
    .sort((a, b) => a.difference - b.difference)[0];

  // What is known of each vertex: the photo's colours, then those from across, brought into line with them.
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
    : fillUnseen(closed, {
        colors: known,
        seen,
        guesses: sampleAll(behind, vertices),
        trust: vertices.away.map((away) => 0.2 * away),
      });

  const texels = texelsOf(mesh, closed, shift ? sideBySide(spread, shift) : spread, textureSize);
  const channels = shift ? 6 : 3;
  const surface = look(texels.positions, texels.normals, depthBias);
  const other = mirror && lookAcross(mirror.plane, texels.positions, texels.normals);
  const colors = new Float32Array(3 * texels.count);
  for (let i = 0; i < texels.count; i++) {
    const [x, y] = [surface.pictureX[i]!, surface.pictureY[i]!];
    const own = surface.seen[i]!;
    const mirrored = other ? other.seen[i]! * (1 - own) : 0;
    const away = decoderColors ? 0 : surface.away[i]! * (1 - own - mirrored);
    const rest = 1 - own - mirrored - away;
    for (let c = 0; c < 3; c++) {
      let color = rest * texels.values[channels * i + c]!;
      if (own > 0) color += own * sample(photo, x, y, c);
      if (away > 0) color += away * sample(behind, x, y, c);
      if (mirrored > 0) {
        const from = sample(photo, other!.pictureX[i]!, other!.pictureY[i]!, c);
        color += mirrored * Math.max(from + texels.values[channels * i + 3 + c]!, 0);
      }
      colors[3 * i + c] = color;
    }
  }
  return toImage(texels, colors, textureSize);
}

/**
 * How much the colours of the two sides differ on average where the photo saw both, as sRGB in 0..1: a shape alone may be
 * symmetric by chance. Little is known against a plane of which the photo shows hardly more than one side.
 */
function mirroredDifference(
  own: Projected,
  ownColors: Float32Array,
  across: Projected,
  acrossColors: Float32Array,
): number {
  let [apart, pairs] = [0, 0];
  for (let vertex = 0; vertex < own.seen.length; vertex++) {
    if (own.seen[vertex]! < 0.5 || across.seen[vertex]! < 0.5) continue;
    // Near the plane every vertex is its own partner.
    const offset = Math.hypot(
      own.pictureX[vertex]! - across.pictureX[vertex]!,
      own.pictureY[vertex]! - across.pictureY[vertex]!,
    );
    if (offset < 0.04) continue;
    pairs++;
    for (let c = 0; c < 3; c++) {
      // The square root is nearly sRGB's curve: differences as an eye weighs them.
      apart += Math.abs(Math.sqrt(ownColors[3 * vertex + c]!) - Math.sqrt(acrossColors[3 * vertex + c]!)) / 3;
    }
  }
  return pairs < 24 ? 0.9 * greatestMirroredDifference : apart / pairs;
}

/** `to` minus `from` where both are `known`, spread over the rest and fading with the distance. All [3·V]. */
function spreadDifference(mesh: TriangleMesh, to: Float32Array, from: Float32Array, known: Float32Array) {
  return fillUnseen(mesh, {
    colors: to.map((color, i) => color - from[i]!),
    seen: known,
    guesses: new Float32Array(to.length),
    trust: new Float32Array(known.length).fill(correctionFade),
  });
}

/** Two lists of three numbers a vertex as one of six. */
function sideBySide(a: Float32Array, b: Float32Array): Float32Array {
  const joined = new Float32Array(2 * a.length);
  for (let i = 0; i < a.length; i += 3) {
    joined.set(a.subarray(i, i + 3), 2 * i);
    joined.set(b.subarray(i, i + 3), 2 * i + 3);
  }
  return joined;
}

/**
 * The decoder's colours plus a correction: what they differ from the photo's by, where it saw the surface, spread over
 * the rest. So there is no step at the border, and the decoder's own pattern stays.
 */
function corrected(mesh: TriangleMesh, decoder: Float32Array, seenColors: Float32Array, seen: Float32Array) {
  const correction = spreadDifference(mesh, seenColors, decoder, seen);
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

function sampleAll(image: LinearImage, { pictureX, pictureY }: Projected): Float32Array {
  const colors = new Float32Array(3 * pictureX.length);
  for (let i = 0; i < colors.length; i++) {
    const at = Math.floor(i / 3);
    colors[i] = sample(image, pictureX[at]!, pictureY[at]!, i % 3);
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
