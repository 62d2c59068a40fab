import type { ModelPart } from './model-parts.js';

/** All parts as a mesh with one vertex per position. Textures cut a surface open at their seams, and this closes it. */
export interface WeldedMesh {
  /** x, y, z per vertex, with a float32's precision. */
  readonly positions: readonly number[];
  /** Three vertices per triangle, in the order of the parts. */
  readonly triangles: Uint32Array;
  /** The index of each part's first triangle. */
  readonly firstTriangles: readonly number[];
  /** The smallest x, y and z of the triangles. */
  readonly min: readonly number[];
}

export function weld(parts: readonly ModelPart[]): WeldedMesh {
  const numbers = new Map<string, number>();
  const positions: number[] = [];
  const triangles = new Uint32Array(parts.reduce((sum, { indices }) => sum + indices.length, 0));
  const min = [Infinity, Infinity, Infinity];
  const firstTriangles: number[] = [];
  let at = 0;
  for (const part of parts) {
    firstTriangles.push(at / 3);
    for (const index of part.indices) {
      const position = part.positions.subarray(3 * index, 3 * index + 3);
      const key = position.join();
      let vertex = numbers.get(key);
      if (vertex === undefined) {
        vertex = numbers.size;
        numbers.set(key, vertex);
        for (let axis = 0; axis < 3; axis++) {
          positions.push(position[axis]!);
          min[axis] = Math.min(min[axis]!, position[axis]!);
        }
      }
      triangles[at++] = vertex;
    }
  }
  return { positions, triangles, firstTriangles, min };
}

const vertexOf = ({ positions }: WeldedMesh, vertex: number): Vector => [
  positions[3 * vertex]!,
  positions[3 * vertex + 1]!,
  positions[3 * vertex + 2]!,
];
export const cornersOf = (mesh: WeldedMesh, face: number): [Vector, Vector, Vector] => [
  vertexOf(mesh, mesh.triangles[3 * face]!),
  vertexOf(mesh, mesh.triangles[3 * face + 1]!),
  vertexOf(mesh, mesh.triangles[3 * face + 2]!),
];

/** Finds the edges that triangles pass more often in one direction, `from` to `to`. A closed surface has none. */
export function openEdges({ positions, triangles }: WeldedMesh): [from: number, to: number][] {
  const balances = new Map<number, number>();
  for (let at = 0; at < triangles.length; at++) {
    const [from, to] = [triangles[at]!, triangles[at % 3 === 2 ? at - 2 : at + 1]!];
    if (from === to) continue;
    const edge = Math.min(from, to) * positions.length + Math.max(from, to);
    balances.set(edge, (balances.get(edge) ?? 0) + (from < to ? 1 : -1));
  }
  return [...balances].flatMap(([edge, balance]): [number, number][] => {
    const [low, high] = [Math.floor(edge / positions.length), edge % positions.length];
    return new Array(Math.abs(balance)).fill(balance > 0 ? [low, high] : [high, low]);
  });
}

/** Whether two corners of a face are the same vertex, so that it only connects its neighbors. */
export function isCollapsed({ triangles }: WeldedMesh, face: number): boolean {
  const [a, b, c] = triangles.subarray(3 * face);
  return a === b || b === c || c === a;
}

/** Groups the faces by their edges. Omits collapsed faces. */
export function facesOfEdges(mesh: WeldedMesh): Iterable<readonly number[]> {
  const { positions, triangles } = mesh;
  const faces = new Map<number, number[]>();
  for (let at = 0; at < triangles.length; at++) {
    const face = Math.floor(at / 3);
    if (isCollapsed(mesh, face)) continue;
    const [from, to] = [triangles[at]!, triangles[at % 3 === 2 ? at - 2 : at + 1]!];
    const edge = Math.min(from, to) * positions.length + Math.max(from, to);
    const found = faces.get(edge);
    if (found) found.push(face);
    else faces.set(edge, [face]);
  }
  return faces.values();
}

export type Vector = readonly [x: number, y: number, z: number];

export const minus = (a: Vector, b: Vector): Vector => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const dot = (a: Vector, b: Vector) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const cross = (a: Vector, b: Vector): Vector => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];
