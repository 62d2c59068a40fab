import { boxAround, extentOf } from '../base/box.js';
import type { TriangleMesh } from '../base/mesh.js';
import type { Attitude } from './pose.js';
import { VertexGrid } from './vertex-grid.js';

/** The points p of the plane have normal · p = offset. The normal has unit length. */
export interface MirrorPlane {
  readonly normal: readonly [number, number, number];
  readonly offset: number;
}

/** A reconstruction from one photo is never exactly symmetric: chairs and trucks had an error of 0.03. */
const maxError = 0.034;

/**
 * Every upright plane mirrors a body of revolution about equally well. The best one then tells nothing about the far side:
 * it would copy light and shadow, and noise in the photo would choose it. Its error is 0.82 to 0.94 of that of the median
 * plane for bottles, mugs and teapots, and 0.31 to 0.76 for furniture, vehicles and boxes.
 */
const maxErrorOfMedian = 0.79;

/** If the normal is nearer to the view axis than 30 degrees, the plane tells nothing about the far side. */
const maxTowardView = Math.cos(Math.PI / 6);

/** Minimum angle between two planes. A box and a truck have two; planes nearer to one of them are the same one. */
const minAngleBetween = (40 * Math.PI) / 180;

/** Maximum error of a vertex, as a share of the extent, so that missing parts do not dominate. */
const maxMiss = 0.08;

const coarseSteps = 24;

/** A few vertices to search with, mirrored and compared with more, and those for the errors of the planes found. */
const [coarseMirrored, coarseVertices, fineMirrored] = [400, 2500, 1200];

/** A plane by the angle of its normal around the up axis, and its distance from the middle as a share of the extent. */
interface Candidate {
  readonly angle: number;
  readonly shift: number;
  readonly error: number;
}

/**
 * Finds the upright planes in which an object in the photo camera's frame is most nearly its own mirror image, by shape:
 * the best one, and the best one at a large angle to it. Planes that tell nothing about its far side are left out, and all
 * planes of a body of revolution.
 *
 * Their error is the mean distance of the mirrored vertices to the nearest vertex, as a share of the mesh's extent.
 */
export function mirrorsOf({ positions }: TriangleMesh, { elevation, roll }: Attitude): MirrorPlane[] {
  const extent = extentOf(boxAround(positions));
  // The mean of the vertices is on every plane of symmetry of an evenly sampled surface.
  const middle = new Float64Array(3);
  for (let i = 0; i < positions.length; i++) middle[i % 3]! += (3 * positions[i]!) / positions.length;
  const [sin, cos] = [Math.sin(elevation), Math.cos(elevation)];
  const [sinRoll, cosRoll] = [Math.sin(roll), Math.cos(roll)];
  const planeAt = (angle: number, shift: number): MirrorPlane => {
    const [right, up] = [Math.cos(angle), Math.sin(angle) * sin];
    const normal = [right * cosRoll - up * sinRoll, right * sinRoll + up * cosRoll, -Math.sin(angle) * cos] as const;
    return {
      normal,
      offset: normal[0] * middle[0]! + normal[1] * middle[1]! + normal[2] * middle[2]! + shift * extent,
    };
  };
  const errorAmong = (mirroredCount: number, vertexCount: number) => {
    const among = (count: number) => everyNth(positions, Math.max(1, Math.floor(positions.length / 3 / count)));
    const [points, vertices] = [among(mirroredCount), new VertexGrid(among(vertexCount), maxMiss * extent)];
    return ({ normal: [nx, ny, nz], offset }: MirrorPlane): number => {
      let sum = 0;
      for (let i = 0; i < points.length; i += 3) {
        const x = points[i]!;
        const y = points[i + 1]!;
        const z = points[i + 2]!;
        const across = 2 * (nx * x + ny * y + nz * z - offset);
        sum += vertices.distanceTo(x - across * nx, y - across * ny, z - across * nz);
      }
      return sum / (points.length / 3) / extent;
    };
  };
  const roughError = errorAmong(coarseMirrored, coarseVertices);
  const candidateAt = (angle: number, shift: number): Candidate => {
    const plane = planeAt(angle, shift);
    return { angle, shift, error: Math.abs(plane.normal[2]) > maxTowardView ? Infinity : roughError(plane) };
  };
  const refined = (start: Candidate): MirrorPlane => {
    let best = start;
    for (let reach = Math.PI / coarseSteps / 2; reach > 0.01; reach /= 2) {
      const { angle, shift } = best;
      for (const turn of [-reach, 0, reach]) {
        for (const slide of [-0.2 * reach, 0, 0.2 * reach]) {
          best = better(best, candidateAt(angle + turn, shift + slide));
        }
      }
    }
    return planeAt(best.angle, best.shift);
  };

  const candidates = Array.from({ length: 3 * coarseSteps }, (_, i) =>
    candidateAt((Math.floor(i / 3) * Math.PI) / coarseSteps, 0.05 * ((i % 3) - 1)),
  );
  const first = candidates.reduce(better);
  const centered = Array.from({ length: coarseSteps }, (_, i) => roughError(planeAt((i * Math.PI) / coarseSteps, 0)));
  const median = centered.sort((a, b) => a - b)[coarseSteps / 2]!;
  if (first.error > maxErrorOfMedian * median) return [];
  const apart = candidates.filter(({ angle }) => angleBetween(angle, first.angle) > minAngleBetween);
  const errorOf = errorAmong(fineMirrored, positions.length / 3);
  return [first, apart.reduce(better)]
    .filter(({ error }) => error < Infinity)
    .map(refined)
    .filter((plane) => errorOf(plane) < maxError);
}

/** Selects the vertices [3·N] whose number is a multiple of `step`. */
function everyNth(positions: Float32Array, step: number): Float32Array {
  const selected = new Float32Array(3 * Math.ceil(positions.length / 3 / step));
  for (let to = 0; to < selected.length; to += 3) selected.set(positions.subarray(step * to, step * to + 3), to);
  return selected;
}

const better = (a: Candidate, b: Candidate): Candidate => (b.error < a.error ? b : a);

/** Computes the angle between two planes. A normal and its opposite are the same. */
function angleBetween(a: number, b: number): number {
  const turn = Math.abs(a - b) % Math.PI;
  return Math.min(turn, Math.PI - turn);
}
