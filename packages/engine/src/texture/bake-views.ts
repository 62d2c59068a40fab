import type { RgbaImage } from '../base/image.js';
import { linearOfSrgb } from '../base/image.js';
import { sampleColor, sampleSquare, smoothStep } from '../base/interpolation.js';
import type { TexturedMesh, TriangleMesh } from '../base/mesh.js';
import { depthMap } from '../render/rasterize.js';
import type { View } from '../render/view.js';
import { decoderTrust, depthBias, depthMapSize, fillUnlit, toImage } from './bake.js';
import { matchedGains } from './matched-gains.js';
import { eyeOf, PhotoProjection, type Placement, projectedPoints } from './photo-projection.js';
import { padSeams, TexelRow, texelsOf } from './texels.js';

/** A photo, and its camera in the space of the mesh. */
export interface PlacedPhoto {
  readonly image: RgbaImage;
  readonly camera: Placement & { readonly distance: number; readonly halfTangent: number };
  /** [outlineSize²] distance inside the outline, in units of the frame. */
  readonly outline: Float32Array;
  readonly outlineSize: number;
}

export interface BakeViewsOptions {
  readonly textureSize: number;
  /** [3·V] the network's guess for the vertices of the closed mesh, sRGB in 0..1. */
  readonly decoderColors?: Float32Array | undefined;
}

/** How sharply a texel prefers the photo that sees it most squarely. Less would double details that are off. */
const sharpness = 12;

/** The front photo is preferred by this factor, so that the front of the model is that of one photo. */
const frontFavor = 30;

/** Near an outline, colors mix with the background's, and errors of the camera matter most: none up to, all from. */
const outlineInset = [-0.004, 0.02] as const;

/** The weights and linear colors of points in one photo. */
interface Look {
  readonly seen: Float64Array;
  readonly weight: Float64Array;
  /** [3·N] */
  readonly colors: Float64Array;
}

/**
 * Makes the base color texture from several photos: each texel has the color of the photo that sees it most squarely,
 * blended with the next one, and the gains of the photos are matched. Where no photo shows the surface, colors are
 * spread along it, drawn a little to the network's.
 *
 * @param mesh unwrapped, in the space of the photos
 * @param closed the same surface before its seams were split
 * @param photos the front first
 */
export function bakeViews(
  mesh: TexturedMesh,
  closed: TriangleMesh,
  normals: Float32Array,
  photos: readonly PlacedPhoto[],
  { textureSize, decoderColors }: BakeViewsOptions,
): RgbaImage {
  const lookers = photos.map((photo, i) => lookerOf(photo, closed, i === 0 ? frontFavor : 1));
  const count = closed.positions.length / 3;
  const points = new Float64Array(closed.positions);
  const looks = lookers.map((look) => look(count)(points, new Float64Array(normals), count));
  const gains = matchedGains(looks, count);
  const colors = new Float32Array(3 * count);
  const seen = new Float32Array(count);
  const mixed = new Float64Array(4);
  for (let vertex = 0; vertex < count; vertex++) {
    mix(looks, gains, vertex, mixed);
    seen[vertex] = mixed[3]!;
    for (let c = 0; c < 3; c++) colors[3 * vertex + c] = mixed[c]!;
  }
  const guesses = decoderColors ? decoderColors.map(linearOfSrgb) : colors;
  const trust = new Float32Array(count).fill(decoderColors ? decoderTrust : 0);
  const filled = fillUnlit(closed, { colors, seen, guesses, trust });
  return paint(mesh, { ...closed, normals }, textureSize, lookers, gains, filled);
}

/** Looks at up to so many points at a time. The result is valid until the next call. */
type Looker = (capacity: number) => (points: Float64Array, normals: Float64Array, count: number) => Look;

function lookerOf({ image, camera, outline, outlineSize }: PlacedPhoto, closed: TriangleMesh, favor: number): Looker {
  const size = 2 * camera.distance * camera.halfTangent;
  const map = depthMap(closed, viewOf(camera, depthMapSize));
  const projection = new PhotoProjection(camera, map, depthBias * size, undefined, camera);
  const color = new Float64Array(3);
  return (capacity) => {
    const projected = projectedPoints(capacity);
    const look = { seen: projected.seen, weight: new Float64Array(capacity), colors: new Float64Array(3 * capacity) };
    return (points, normals, count) => {
      projection.project(points, normals, count, projected);
      for (let i = 0; i < count; i++) {
        look.weight[i] = 0;
        if (look.seen[i] === 0) continue;
        const x = projected.x[i]!;
        const y = projected.y[i]!;
        const inside = sampleSquare(outline, outlineSize, 2 * x - 1, 2 * y - 1);
        look.seen[i]! *= smoothStep(outlineInset[0], outlineInset[1], inside);
        look.weight[i] = favor * look.seen[i]! * Math.max(projected.cosine[i]!, 0) ** sharpness;
        sampleColor(image, x, y, color);
        look.colors[3 * i] = color[0]!;
        look.colors[3 * i + 1] = color[1]!;
        look.colors[3 * i + 2] = color[2]!;
      }
      return look;
    };
  };
}

/** Makes the view of a photo's camera, as a square image of `size` pixels. */
export function viewOf(camera: PlacedPhoto['camera'], size: number): View {
  return {
    ...{ width: size, height: size, principalPoint: [size / 2, size / 2], focalLength: size / 2 / camera.halfTangent },
    eye: eyeOf(camera, camera.distance),
    rotation: [...camera.rotation] as unknown as View['rotation'],
  };
}

/** Writes the mean color of a point in all photos, and how well they show it, to `mixed` [4]. */
function mix(looks: readonly Look[], gains: readonly Float64Array[], point: number, mixed: Float64Array): void {
  let [total, seen] = [0, 0];
  mixed.fill(0);
  for (let photo = 0; photo < looks.length; photo++) {
    const look = looks[photo]!;
    const weight = look.weight[point]!;
    if (weight === 0) continue;
    total += weight;
    seen = Math.max(seen, look.seen[point]!);
    for (let c = 0; c < 3; c++) mixed[c]! += weight * gains[photo]![c]! * look.colors[3 * point + c]!;
  }
  if (total > 0) for (let c = 0; c < 3; c++) mixed[c]! /= total;
  mixed[3] = Math.min(1, 1.5 * seen);
}

function paint(
  mesh: TexturedMesh,
  { positions, normals, indices }: TriangleMesh & { readonly normals: Float32Array },
  size: number,
  lookers: readonly Looker[],
  gains: readonly Float64Array[],
  filled: Float32Array,
): RgbaImage {
  const row = new TexelRow(indices, texelsOf(mesh, size), size);
  const painted = new Float32Array(3 * size * size);
  const covered = new Uint8Array(size * size);
  const rowPositions = new Float64Array(3 * size);
  const rowNormals = new Float64Array(3 * size);
  const mixed = new Float64Array(4);
  const rest = new Float64Array(3);
  const rowLookers = lookers.map((look) => look(size));
  for (let r = 0; r < size; r++) {
    row.moveTo(r);
    for (let n = 0; n < row.count; n++) {
      covered[row.texels[n]!] = 1;
      row.mix(positions, n, rowPositions, 3 * n);
      row.mix(normals, n, rowNormals, 3 * n);
    }
    const looks = rowLookers.map((look) => look(rowPositions, rowNormals, row.count));
    for (let n = 0; n < row.count; n++) {
      mix(looks, gains, n, mixed);
      const share = mixed[3]!;
      if (share < 1) row.mix(filled, n, rest, 0);
      const at = 3 * row.texels[n]!;
      for (let c = 0; c < 3; c++) painted[at + c] = share * mixed[c]! + (1 - share) * rest[c]!;
    }
  }
  padSeams(painted, covered, size);
  return toImage(painted, size);
}
