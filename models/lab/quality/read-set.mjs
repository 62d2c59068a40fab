import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

const bytesPerPoint = 10;

/**
 * The surface of an object: `positions` [3·N] in -1 to 1, `colors` [3·N] sRGB, and `seen` [N], whose bit 0 is set for
 * points that the first photo shows, and bit 1 for points that the second shows.
 *
 * @typedef {{ positions: Float32Array, colors: Uint8Array, seen: Uint8Array }} Surface
 */

/**
 * `cameraToObject` has 4 columns, row by row.
 *
 * @typedef {{ cameraToObject: number[], fovDegrees: number, yawDegrees: number, elevationDegrees: number }} View
 */

/** The sides that a person takes photos of, in the order in which they help. */
export const sides = /** @type {const} */ (['front', 'left', 'back', 'right']);

/** @typedef {typeof sides[number]} Side */
/** @typedef {{ photo: string, view: View }} SidePhoto */

/**
 * @typedef {object} QualityObject
 * @property {string} id
 * @property {string} kind
 * @property {boolean} seen whether training makes objects of that kind
 * @property {string[]} photos paths
 * @property {View[]} views one for each photo
 * @property {Record<Side, SidePhoto> | undefined} sides four photos as a person takes them, of a part of the objects
 * @property {() => Surface} truth reads the surface
 */

/**
 * The objects of a set, in the order of its objects.json.
 *
 * @param {string} folder made by make-set.mjs; docs/quality.md describes the files
 * @returns {QualityObject[]}
 */
export function readSet(folder) {
  /** @type {{ kinds: Record<string, { seen: boolean }>, objects: Array<{ id: string, kind: string }> }} */
  const { kinds, objects } = JSON.parse(readFileSync(join(folder, 'objects.json'), 'utf8'));
  /** @type {Record<string, { views: View[], sides?: Record<Side, View> }>} */
  const made = JSON.parse(readFileSync(join(folder, 'views.json'), 'utf8'));
  return objects
    .filter(({ id }) => made[id] && existsSync(join(folder, 'points', `${id}.points.gz`)))
    .map(({ id, kind }) => ({
      id,
      kind,
      seen: kinds[kind].seen,
      photos: made[id].views.map((_, view) => join(folder, 'photos', `${id}-${view + 1}.webp`)),
      views: made[id].views,
      sides: sidePhotos(made[id].sides, (side) => join(folder, 'photos', `${id}-${side}.webp`)),
      truth: () => readPoints(join(folder, 'points', `${id}.points.gz`)),
    }));
}

/** @type {(views: Record<Side, View> | undefined, fileOf: (side: Side) => string) => Record<Side, SidePhoto> | undefined} */
function sidePhotos(views, fileOf) {
  if (!views) return undefined;
  const entries = sides.map((side) => [side, { photo: fileOf(side), view: views[side] }]);
  return Object.fromEntries(entries);
}

/**
 * @param {string} path
 * @returns {Surface}
 */
function readPoints(path) {
  const bytes = gunzipSync(readFileSync(path));
  const count = bytes.length / bytesPerPoint;
  const positions = new Float32Array(3 * count);
  const current = [0, 0, 0];
  for (let i = 0; i < 3 * count; i++) {
    // Positions are stored as 16-bit differences. Their sums wrap around, as the differences did when they were made.
    current[i % 3] = ((current[i % 3] + bytes.readInt16LE(2 * i)) << 16) >> 16;
    positions[i] = current[i % 3] / 32767;
  }
  return {
    positions,
    colors: bytes.subarray(6 * count, 9 * count),
    seen: bytes.subarray(9 * count),
  };
}
