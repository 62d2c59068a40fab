import type { TriangleMesh } from './mesh.js';
import { enclosedVolume } from './topology.js';

/**
 * Drops what is not the object: closed parts of less than `minShare` of the largest part's volume (specks that float
 * around it), and bubbles inside it, which nobody can see and which waste triangles and texture.
 */
export function clean(mesh: TriangleMesh, minShare = 0.01): TriangleMesh {
  const parts = connectedParts(mesh).map((indices) => {
    const part = { positions: mesh.positions, indices };
    return { indices, volume: enclosedVolume(part) };
  });
  const largest = parts.reduce((most, { volume }) => Math.max(most, volume), 0);
  // A bubble winds the other way round, so its volume is negative.
  return compact(
    mesh.positions,
    parts.filter(({ volume }) => volume > 0 && volume >= minShare * largest).map(({ indices }) => indices),
  );
}

/** The triangles of each connected part. */
function connectedParts({ positions, indices }: TriangleMesh): Uint32Array[] {
  const parent = Uint32Array.from({ length: positions.length / 3 }, (_, vertex) => vertex);
  const root = (vertex: number): number => {
    let at = vertex;
    while (parent[at] !== at) {
      parent[at] = parent[parent[at]!]!;
      at = parent[at]!;
    }
    return at;
  };
  for (let t = 0; t < indices.length; t += 3) {
    const a = root(indices[t]!);
    parent[root(indices[t + 1]!)] = a;
    parent[root(indices[t + 2]!)] = a;
  }
  const sizes = new Map<number, number>();
  for (let t = 0; t < indices.length; t += 3) {
    const part = root(indices[t]!);
    sizes.set(part, (sizes.get(part) ?? 0) + 3);
  }
  const parts = new Map([...sizes].map(([part, size]) => [part, { indices: new Uint32Array(size), length: 0 }]));
  for (let t = 0; t < indices.length; t += 3) {
    const part = parts.get(root(indices[t]!))!;
    part.indices.set(indices.subarray(t, t + 3), part.length);
    part.length += 3;
  }
  return [...parts.values()].map((part) => part.indices);
}

/** A mesh of the given triangles, with only the vertices they use. */
export function compact(positions: Float32Array, triangles: readonly Uint32Array[]): TriangleMesh {
  const newIndex = new Int32Array(positions.length / 3).fill(-1);
  const indices = new Uint32Array(triangles.reduce((sum, { length }) => sum + length, 0));
  const kept: number[] = [];
  let i = 0;
  for (const list of triangles) {
    for (const vertex of list) {
      if (newIndex[vertex]! < 0) {
        newIndex[vertex] = kept.length;
        kept.push(vertex);
      }
      indices[i++] = newIndex[vertex]!;
    }
  }
  const compacted = new Float32Array(3 * kept.length);
  kept.forEach((vertex, j) => {
    compacted.set(positions.subarray(3 * vertex, 3 * vertex + 3), 3 * j);
  });
  return { positions: compacted, indices };
}
