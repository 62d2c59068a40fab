import type { ModelContent } from './model-parts.js';
import {
  cornersOf,
  cross,
  dot,
  facesOfEdges,
  isCollapsed,
  minus,
  openEdges,
  type Vector,
  type WeldedMesh,
  weld,
} from './weld.js';

/** A nozzle is 0.4 mm wide, and a wall needs two lines of plastic. */
const minWall = 0.8;
/** A first layer of usual height. Faces in it lie on the bed. */
const bedHeight = 0.2;
const maxSamples = 4_000;
const maxCellsPerAxis = 64;

/** Tells whether a 3D printer can make a model, and how well. Shares are of the surface's area, 0..1. */
export interface PrintCheck {
  /** Whether the surface has no holes and no open edges. */
  readonly closed: boolean;
  /** Separate parts. Hollows inside a part do not count. */
  readonly pieces: number;
  /** The enclosed volume in cm³. Undefined if the surface is not closed, because it then encloses nothing. */
  readonly volume: number | undefined;
  /** Faces that point down, more than 45° from vertical, and do not lie on the bed. They need supports. */
  readonly overhangs: number;
  /** Walls thinner than 0.8 mm, measured inward at up to 4,000 points. */
  readonly thin: number;
}

/** Checks a model that is in millimeters. @param up the axis that points up in `model` */
export function checkPrint({ parts }: Pick<ModelContent, 'parts'>, up: 'y' | 'z'): PrintCheck {
  const mesh = weld(parts);
  const faces = measureFaces(mesh);
  const closed = openEdges(mesh).length === 0;
  const volumes = pieceVolumes(mesh);
  const isSolid = (volume: number) => !closed || volume >= 0;
  return {
    closed,
    pieces: Math.max(1, volumes.filter(isSolid).length),
    volume: closed ? Math.abs(volumes.reduce((sum, volume) => sum + volume, 0)) / 1000 : undefined,
    overhangs: overhangShare(mesh, faces, up === 'y' ? 1 : 2),
    thin: thinWallShare(mesh, faces),
  };
}

/** Summarizes the check in one sentence. */
export function describePrint({ closed, pieces, volume, overhangs, thin }: PrintCheck): string {
  const surface = closed ? `closed, ${Number(volume!.toPrecision(3))} cm³` : 'not closed, so a slicer has to repair it';
  const facts = [
    surface,
    pieces === 1 ? 'one piece' : `${pieces} separate pieces`,
    `overhangs: ${percent(overhangs)}`,
    `walls thinner than ${minWall} mm: ${percent(thin)}${thin > 0.01 ? ', so print it larger' : ''}`,
  ];
  return `Print check: ${facts.join('; ')}.`;
}

const percent = (share: number) =>
  share === 0 ? 'none' : share < 0.01 ? 'under 1 % of the surface' : `${Math.round(100 * share)} % of the surface`;

interface Faces {
  /** x, y, z per face, of unit length, or zero for a face without area. */
  readonly normals: Float64Array;
  readonly areas: Float64Array;
  readonly totalArea: number;
}

function measureFaces(mesh: WeldedMesh): Faces {
  const count = mesh.triangles.length / 3;
  const normals = new Float64Array(3 * count);
  const areas = new Float64Array(count);
  let totalArea = 0;
  for (let face = 0; face < count; face++) {
    const [a, b, c] = cornersOf(mesh, face);
    const normal = cross(minus(b, a), minus(c, a));
    const length = Math.hypot(...normal);
    areas[face] = length / 2;
    totalArea += length / 2;
    for (let axis = 0; axis < 3; axis++) normals[3 * face + axis] = normal[axis]! / (length || 1);
  }
  return { normals, areas, totalArea };
}

/**
 * Computes the signed volume of each piece, in mm³. A hollow's volume is negative. Two faces belong to one piece if
 * they share an edge that no other face has: where only a corner, or an edge with more faces, joins them, a print
 * breaks.
 */
function pieceVolumes(mesh: WeldedMesh): number[] {
  const parents = Uint32Array.from({ length: mesh.triangles.length / 3 }, (_, face) => face);
  const rootOf = (face: number) => {
    let root = face;
    while (parents[root] !== root) {
      parents[root] = parents[parents[root]!]!;
      root = parents[root]!;
    }
    return root;
  };
  for (const [first, second, ...others] of facesOfEdges(mesh)) {
    if (second !== undefined && others.length === 0) parents[rootOf(first!)] = rootOf(second);
  }
  const volumes = new Map<number, number>();
  for (let face = 0; face < parents.length; face++) {
    if (isCollapsed(mesh, face)) continue;
    const [a, b, c] = cornersOf(mesh, face);
    const piece = rootOf(face);
    volumes.set(piece, (volumes.get(piece) ?? 0) + dot(a, cross(b, c)) / 6);
  }
  return [...volumes.values()];
}

function overhangShare(mesh: WeldedMesh, { normals, areas, totalArea }: Faces, up: 1 | 2): number {
  const bed = mesh.min[up]! + bedHeight;
  // A slope of exactly 45° does not count, whichever way it is rounded.
  const steepest = -Math.SQRT1_2 - 1e-6;
  let area = 0;
  for (let face = 0; face < areas.length; face++) {
    if (normals[3 * face + up]! >= steepest) continue;
    if (cornersOf(mesh, face).some((corner) => corner[up] > bed)) area += areas[face]!;
  }
  return area / (totalArea || 1);
}

/** Sends rays inward from points that are spread evenly over the surface, and counts those that leave it too early. */
function thinWallShare(mesh: WeldedMesh, { normals, areas, totalArea }: Faces): number {
  const facesNear = gridOf(mesh);
  const normalOf = (face: number): Vector => [normals[3 * face]!, normals[3 * face + 1]!, normals[3 * face + 2]!];
  let [thin, sample, passedArea] = [0, 0, 0];
  for (let face = 0; face < areas.length; face++) {
    passedArea += areas[face]!;
    const [a, b, c] = cornersOf(mesh, face);
    const normal = normalOf(face);
    const inward: Vector = [-normal[0], -normal[1], -normal[2]];
    for (; (sample + 0.5) * totalArea < passedArea * maxSamples; sample++) {
      // The R2 sequence: evenly spread points of a square, folded into the triangle.
      let [u, v] = [(sample * 0.7548776662466927) % 1, (sample * 0.5698402909980532) % 1];
      if (u + v > 1) [u, v] = [1 - u, 1 - v];
      const point = a.map(
        (value, axis) => value + u * (b[axis]! - value) + v * (c[axis]! - value),
      ) as unknown as Vector;
      const leaves = (other: number) =>
        dot(inward, normalOf(other)) > 0 && distanceTo(cornersOf(mesh, other), point, inward) < minWall;
      if (facesNear(point, inward).some(leaves)) thin++;
    }
  }
  return thin / (sample || 1);
}

/** Returns the length of the ray up to the triangle, or infinity if it misses (Möller and Trumbore 1997). */
function distanceTo([a, b, c]: readonly [Vector, Vector, Vector], origin: Vector, direction: Vector): number {
  const [ab, ac, ao] = [minus(b, a), minus(c, a), minus(origin, a)];
  const p = cross(direction, ac);
  const q = cross(ao, ab);
  const determinant = dot(ab, p);
  const u = dot(ao, p) / determinant;
  const v = dot(direction, q) / determinant;
  const length = dot(ac, q) / determinant;
  // Two sides of a sheet without thickness are rounded to either order.
  return u >= 0 && v >= 0 && u + v <= 1 && length > -1e-6 ? length : Infinity;
}

/** Sorts the faces into the cells of a grid. @returns the faces that a ray as long as a thin wall may meet */
function gridOf(mesh: WeldedMesh): (origin: Vector, direction: Vector) => number[] {
  const { min, positions } = mesh;
  let size = 0;
  for (let at = 0; at < positions.length; at++) size = Math.max(size, positions[at]! - min[at % 3]!);
  const cell = Math.max(minWall / 2, size / maxCellsPerAxis);
  const cells = new Map<number, number[]>();
  const keysOf = (points: readonly Vector[]): number[] => {
    const [x, y, z] = [0, 1, 2].map((axis) => {
      const places = points.map((point) => Math.floor((point[axis]! - min[axis]!) / cell));
      const first = Math.max(0, Math.min(...places));
      return Array.from({ length: Math.min(maxCellsPerAxis, Math.max(...places)) - first + 1 }, (_, at) => first + at);
    }) as [number[], number[], number[]];
    return x.flatMap((i) => y.flatMap((j) => z.map((k) => (i * 256 + j) * 256 + k)));
  };
  for (let face = 0; face < mesh.triangles.length / 3; face++) {
    for (const key of keysOf(cornersOf(mesh, face))) {
      const found = cells.get(key);
      if (found) found.push(face);
      else cells.set(key, [face]);
    }
  }
  return (origin, direction) => {
    const end = origin.map((value, axis) => value + minWall * direction[axis]!) as unknown as Vector;
    return keysOf([origin, end]).flatMap((key) => cells.get(key) ?? []);
  };
}
