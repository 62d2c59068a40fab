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

/** A photo whose weight is a smaller share of the largest does not visibly change a texel's color. */
const minShare = 0.002;

/** The front photo is preferred by this factor, so that the front of the model is that of one photo. */
const frontFavor = 30;

/** Near an outline, colors mix with the background's, and errors of the camera matter most: none up to, all from. */
const outlineInset = [-0.004, 0.02] as const;

/** Points in one photo: how well it shows them, how much it counts for their color, and where in the photo they are. */
interface Look {
  readonly image: RgbaImage;
  readonly seen: Float64Array;
  readonly weight: Float64Array;
  readonly x: Float64Array;
  readonly y: Float64Array;
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
  const [points, directions] = [new Float64Array(closed.positions), new Float64Array(normals)];
  const looks = lookers.map((look) => look(count)(points, directions, count));
  const gains = matchedGains(
    looks.map((look) => ({ seen: look.seen, colors: colorsIn(look, count) })),
    count,
  );
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
  return (capacity) => {
    const projected = projectedPoints(capacity);
    const look = { image, ...projected, weight: new Float64Array(capacity) };
    return (points, normals, count) => {
      projection.project(points, normals, count, projected);
      for (let i = 0; i < count; i++) {
        look.weight[i] = 0;
        if (look.seen[i] === 0) continue;
        const inside = sampleSquare(outline, outlineSize, 2 * look.x[i]! - 1, 2 * look.y[i]! - 1);
        look.seen[i]! *= smoothStep(outlineInset[0], outlineInset[1], inside);
        look.weight[i] = favor * look.seen[i]! * preferenceOf(projected.cosine[i]!);
      }
      return look;
    };
  };
}

/** A texel prefers the photo that sees it most squarely, sharply: otherwise details double where cameras are off. */
function preferenceOf(cosine: number): number {
  const fourth = cosine * cosine * cosine * cosine;
  return fourth * fourth * fourth;
}

/** Returns the linear colors [3·N] of the points that a photo shows. */
function colorsIn({ image, seen, x, y }: Look, count: number): Float64Array {
  const colors = new Float64Array(3 * count);
  for (let i = 0; i < count; i++) if (seen[i]! > 0) sampleColor(image, x[i]!, y[i]!, colors.subarray(3 * i, 3 * i + 3));
  return colors;
}

/** Makes the view of a photo's camera, as a square image of `size` pixels. */
export function viewOf(camera: PlacedPhoto['camera'], size: number): View {
  return {
    ...{ width: size, height: size, principalPoint: [size / 2, size / 2], focalLength: size / 2 / camera.halfTangent },
    eye: eyeOf(camera, camera.distance),
    rotation: [...camera.rotation] as unknown as View['rotation'],
  };
}

const color = new Float64Array(3);

/** Writes the mean color of a point in all photos, and how well they show it, to `mixed` [4]. */
function mix(looks: readonly Look[], gains: readonly Float64Array[], point: number, mixed: Float64Array): void {
  let most = 0;
  let seen = 0;
  for (const look of looks) {
    most = Math.max(most, look.weight[point]!);
    seen = Math.max(seen, look.seen[point]!);
  }
  mixed.fill(0);
  mixed[3] = Math.min(1, 1.5 * seen);
  if (most === 0) return;
  let total = 0;
  for (let photo = 0; photo < looks.length; photo++) {
    const { image, weight, x, y } = looks[photo]!;
    const share = weight[point]! / most;
    if (share < minShare) continue;
    total += share;
    sampleColor(image, x[point]!, y[point]!, color);
    for (let c = 0; c < 3; c++) mixed[c]! += share * gains[photo]![c]! * color[c]!;
  }
  for (let c = 0; c < 3; c++) mixed[c]! /= total;
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
