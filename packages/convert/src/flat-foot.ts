import earcut from 'earcut';
import type { ModelContent, ModelPart } from './model-parts.js';
import { cornersOf, cross, dot, openEdges, type Vector, type WeldedMesh, weld } from './weld.js';

/** Cuts are tried at these heights, as shares of the model's height. */
const cuts = [0.005, 0.01, 0.02, 0.03, 0.05];
/** A model that stands does not fall over if it is tilted by 10° in any direction. */
const stableTilt = Math.tan((10 * Math.PI) / 180);
const directions = 32;

/** A model with a flat foot. Lengths are in the unit of the model. */
export interface FlatFoot {
  readonly parts: readonly ModelPart[];
  /** The height of the part that was cut off. */
  readonly height: number;
  readonly area: number;
  /** Whether the center of mass is far enough from the edge of the foot. */
  readonly stands: boolean;
}

/**
 * Cuts off the lowest part of a model whose Y axis points up: as little as is enough to let it stand, and at most 5 %
 * of its height. The cut is closed by flat triangles, so a closed surface stays closed.
 */
export function cutFlatFoot({ parts }: Pick<ModelContent, 'parts'>): FlatFoot {
  const { positions } = weld(parts);
  const heights = positions.filter((_, at) => at % 3 === 1);
  const bottom = heights.reduce((least, height) => Math.min(least, height), Infinity);
  const top = heights.reduce((most, height) => Math.max(most, height), -Infinity);
  let foot: FlatFoot | undefined;
  for (const share of cuts) {
    foot = cutAt(parts, Math.fround(bottom + share * (top - bottom)), bottom);
    if (foot.stands) break;
  }
  return foot!;
}

function cutAt(parts: readonly ModelPart[], plane: number, bottom: number): FlatFoot {
  const clipped = parts.map((part) => clip(part, plane));
  const caps: ModelPart[] = [];
  // Triangulation skips vertices in the middle of straight edges. A fan of triangles without area connects them.
  for (const triangulate of [triangulated, fans]) {
    const mesh = weld([...clipped, ...caps]);
    const loops = loopsOf(openEdges(mesh).filter((edge) => edge.every((vertex) => yOf(mesh, vertex) === plane)));
    caps.push(toPart(mesh, triangulate(mesh, loops), parts[0]?.material));
  }
  const closed = [...clipped, ...caps];
  const foot = weld(caps);
  const area = areaOf(foot, foot.triangles);
  const height = plane - bottom;
  const stands = isStable(weld(closed), foot, plane);
  // The foot takes the place of the old bottom.
  const lowered = (value: number, at: number) => (at % 3 === 1 ? value - height : value);
  const lower = (part: ModelPart) => ({ ...part, positions: part.positions.map(lowered) });
  return { parts: closed.map(lower), height, area, stands };
}

/** Whether the model stays upright if it is tilted in any direction. */
function isStable(mesh: WeldedMesh, foot: WeldedMesh, plane: number): boolean {
  const [x, y, z] = centerOfMass(mesh);
  const margin = (y - plane) * stableTilt;
  const corners = Array.from({ length: foot.positions.length / 3 }, (_, vertex) => flat(foot, vertex));
  return Array.from({ length: directions }, (_, at) => (2 * Math.PI * at) / directions).every((angle) => {
    const [toRight, up] = [Math.cos(angle), Math.sin(angle)];
    return corners.some(([cornerX, cornerZ]) => (cornerX - x) * toRight + (cornerZ - z) * up >= margin);
  });
}

/** Sums tetrahedra between the origin and each triangle. */
function centerOfMass(mesh: WeldedMesh): Vector {
  const center = [0, 0, 0];
  let total = 0;
  for (let face = 0; face < mesh.triangles.length / 3; face++) {
    const [a, b, c] = cornersOf(mesh, face);
    const volume = dot(a, cross(b, c));
    total += volume;
    for (const axis of [0, 1, 2]) center[axis]! += (volume * (a[axis]! + b[axis]! + c[axis]!)) / 4;
  }
  return center.map((value) => value / total) as unknown as Vector;
}

const yOf = ({ positions }: WeldedMesh, vertex: number) => positions[3 * vertex + 1]!;

/** Keeps the part of the triangles above the plane. Cuts equal edges at equal positions, so triangles still meet. */
function clip(part: ModelPart, plane: number): ModelPart {
  const sizes = { positions: 3, normals: 3, uvs: 2, colors: 3 } as const;
  const names = (['positions', 'normals', 'uvs', 'colors'] as const).filter((name) => part[name]);
  const added: Record<string, number[]> = { positions: [], normals: [], uvs: [], colors: [] };
  const cutEdges = new Map<number, number>();
  const count = part.positions.length / 3;
  const heightOf = (vertex: number) => part.positions[3 * vertex + 1]!;

  const cutEdge = (one: number, other: number): number => {
    const [low, high] = heightOf(one) < heightOf(other) ? [one, other] : [other, one];
    const known = cutEdges.get(low * count + high);
    if (known !== undefined) return known;
    const share = (plane - heightOf(low)) / (heightOf(high) - heightOf(low));
    for (const name of names) {
      for (let at = 0; at < sizes[name]; at++) {
        const [from, to] = [part[name]![sizes[name] * low + at]!, part[name]![sizes[name] * high + at]!];
        added[name]!.push(name === 'positions' && at === 1 ? plane : from + share * (to - from));
      }
    }
    const vertex = count + cutEdges.size;
    cutEdges.set(low * count + high, vertex);
    return vertex;
  };

  const indices: number[] = [];
  for (let at = 0; at < part.indices.length; at += 3) {
    const corners = [...part.indices.subarray(at, at + 3)];
    const polygon = corners.flatMap((corner, index) => {
      const next = corners[(index + 1) % 3]!;
      const isAbove = heightOf(corner) >= plane;
      const kept = isAbove ? [corner] : [];
      return isAbove === heightOf(next) >= plane ? kept : [...kept, cutEdge(corner, next)];
    });
    for (let corner = 2; corner < polygon.length; corner++) {
      indices.push(polygon[0]!, polygon[corner - 1]!, polygon[corner]!);
    }
  }
  const extended = (name: (typeof names)[number]) => part[name] && Float32Array.of(...part[name], ...added[name]!);
  return {
    ...part,
    positions: extended('positions')!,
    normals: extended('normals'),
    uvs: extended('uvs'),
    colors: extended('colors'),
    indices: Uint32Array.from(indices),
  };
}

/** Joins open edges to loops, in the reverse direction. These bound the surface that closes the mesh. */
function loopsOf(edges: readonly (readonly [number, number])[]): number[][] {
  const nexts = new Map<number, number[]>();
  for (const [from, to] of edges) nexts.set(to, [...(nexts.get(to) ?? []), from]);
  const loops: number[][] = [];
  for (const start of nexts.keys()) {
    for (let vertex = nexts.get(start)!.pop(); vertex !== undefined; vertex = nexts.get(start)!.pop()) {
      const loop = [start];
      for (; vertex !== undefined && vertex !== start; vertex = nexts.get(vertex)?.pop()) loop.push(vertex);
      loops.push(loop);
    }
  }
  return loops;
}

/** Projects a vertex to the ground. Seen from below, x points right and z points up. */
const flat = ({ positions }: WeldedMesh, vertex: number) =>
  [positions[3 * vertex]!, positions[3 * vertex + 2]!] as const;

/** Computes an area that is positive if the corners are counterclockwise, seen from below. */
function signedArea(mesh: WeldedMesh, loop: readonly number[]): number {
  const corners = loop.map((vertex) => flat(mesh, vertex));
  return corners.reduce((sum, [x, z], index) => {
    const [nextX, nextZ] = corners[(index + 1) % corners.length]!;
    return sum + (x * nextZ - nextX * z) / 2;
  }, 0);
}

/** Adds up the areas of triangles, with their signs. */
function areaOf(mesh: WeldedMesh, triangles: ArrayLike<number>): number {
  let area = 0;
  for (let at = 0; at < triangles.length; at += 3) {
    area += signedArea(mesh, [triangles[at]!, triangles[at + 1]!, triangles[at + 2]!]);
  }
  return area;
}

function triangulated(mesh: WeldedMesh, loops: readonly number[][]): number[] {
  const areas = new Map(loops.map((loop) => [loop, signedArea(mesh, loop)]));
  const outlines = loops.filter((loop) => areas.get(loop)! > 0).sort((a, b) => areas.get(a)! - areas.get(b)!);
  const holes = new Map(outlines.map((outline) => [outline, [] as number[][]]));
  for (const hole of loops.filter((loop) => areas.get(loop)! < 0)) {
    // A hole belongs to the smallest outline around it.
    holes.get(outlines.find((outline) => contains(mesh, outline, hole[0]!)) ?? [])?.push(hole);
  }
  return outlines.flatMap((outline) => {
    const rings = [outline, ...holes.get(outline)!];
    const vertices = rings.flat();
    const starts = rings.slice(1).map((_, index) => rings.slice(0, index + 1).flat().length);
    const corners = earcut(
      vertices.flatMap((vertex) => flat(mesh, vertex)),
      starts,
    ).map((index) => vertices[index]!);
    return areaOf(mesh, corners) < 0 ? corners.reverse() : corners;
  });
}

/** Counts the edges of the outline to the right of the vertex. */
function contains(mesh: WeldedMesh, outline: readonly number[], vertex: number): boolean {
  const [x, z] = flat(mesh, vertex);
  let inside = false;
  for (const [index, corner] of outline.entries()) {
    const [x1, z1] = flat(mesh, corner);
    const [x2, z2] = flat(mesh, outline[(index + 1) % outline.length]!);
    if (z1 > z !== z2 > z && x < x1 + ((z - z1) / (z2 - z1)) * (x2 - x1)) inside = !inside;
  }
  return inside;
}

const fans = (_: WeldedMesh, loops: readonly number[][]) =>
  loops.flatMap(([first, ...rest]) => rest.slice(1).flatMap((vertex, index) => [first!, rest[index]!, vertex]));

function toPart({ positions }: WeldedMesh, triangles: readonly number[], material: number | undefined): ModelPart {
  const corners = triangles.flatMap((vertex) => positions.slice(3 * vertex, 3 * vertex + 3));
  const indices = Uint32Array.from(triangles, (_, at) => at);
  return {
    positions: Float32Array.from(corners),
    normals: undefined,
    uvs: undefined,
    colors: undefined,
    indices,
    material,
  };
}
