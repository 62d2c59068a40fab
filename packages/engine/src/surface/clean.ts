import { DisjointSets } from '../base/disjoint-sets.js';
import type { TriangleMesh } from '../base/mesh.js';

/** An island has less than this share of the largest part's volume, and of the longest part's length. */
const [minShare, minLength] = [0.01, 0.1];

/**
 * Drops islands around the object: closed parts that are small both in volume and in length. Thin parts that lost their
 * connection, such as the leg of a chair, stay.
 * Also drops bubbles inside the object, which are invisible and would take triangles and texture. Holes through it
 * stay.
 */
export function clean(mesh: TriangleMesh): TriangleMesh {
  const { positions, indices } = mesh;
  const parts = connectedParts(mesh);
  const { partOf } = parts;
  const volumes = partVolumes(mesh, parts);
  const largest = volumes.reduce((max, volume) => Math.max(max, volume), 0);
  const lengths = partLengths(positions, parts);
  const longest = lengths.reduce((max, value) => Math.max(max, value), 0);
  const kept = indices.slice();
  let length = 0;
  for (let t = 0; t < indices.length; t += 3) {
    const part = partOf[indices[t]!]!;
    const volume = volumes[part]!;
    if (volume <= 0 || (volume < minShare * largest && lengths[part]! < minLength * longest)) continue;
    for (let corner = t; corner < t + 3; corner++) kept[length++] = indices[corner]!;
  }
  return compact(positions, kept.subarray(0, length));
}

interface Parts {
  /** The index of each vertex's connected part. */
  readonly partOf: Uint32Array;
  readonly count: number;
}

/** Computes the volume of each part, summed over tetrahedra from the origin to its triangles. Negative for a cavity. */
function partVolumes({ positions, indices }: TriangleMesh, { partOf, count }: Parts): Float64Array {
  const volumes = new Float64Array(count);
  for (let t = 0; t < indices.length; t += 3) {
    const [a, b, c] = [3 * indices[t]!, 3 * indices[t + 1]!, 3 * indices[t + 2]!];
    const [ax, ay, az] = [positions[a]!, positions[a + 1]!, positions[a + 2]!];
    const [bx, by, bz] = [positions[b]!, positions[b + 1]!, positions[b + 2]!];
    const [cx, cy, cz] = [positions[c]!, positions[c + 1]!, positions[c + 2]!];
    // Six times the tetrahedron's volume.
    const determinant = ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx);
    volumes[partOf[indices[t]!]!]! += determinant / 6;
  }
  return volumes;
}

/** Measures the longest side of each part's box. */
function partLengths(positions: Float32Array, { partOf, count }: Parts): Float64Array {
  const lengths = new Float64Array(count);
  for (let axis = 0; axis < 3; axis++) {
    const min = new Float64Array(count).fill(Infinity);
    const max = new Float64Array(count).fill(-Infinity);
    for (const [vertex, part] of partOf.entries()) {
      const value = positions[3 * vertex + axis]!;
      min[part] = Math.min(min[part]!, value);
      max[part] = Math.max(max[part]!, value);
    }
    for (let part = 0; part < count; part++) lengths[part] = Math.max(lengths[part]!, max[part]! - min[part]!);
  }
  return lengths;
}

/** Finds the connected parts of a mesh. */
export function connectedParts({ positions, indices }: TriangleMesh): Parts {
  const sets = new DisjointSets(positions.length / 3);
  for (let t = 0; t < indices.length; t += 3) {
    sets.join(indices[t]!, indices[t + 1]!);
    sets.join(indices[t]!, indices[t + 2]!);
  }
  const partOf = new Uint32Array(positions.length / 3);
  let count = 0;
  for (let vertex = 0; vertex < partOf.length; vertex++) if (sets.find(vertex) === vertex) partOf[vertex] = count++;
  for (let vertex = 0; vertex < partOf.length; vertex++) partOf[vertex] = partOf[sets.find(vertex)]!;
  return { partOf, count };
}

/** Makes a mesh of the given triangles, with only the vertices they use, in order of first use. */
export function compact(positions: Float32Array, triangles: Uint32Array): TriangleMesh {
  const newIndex = new Int32Array(positions.length / 3).fill(-1);
  const indices = new Uint32Array(triangles.length);
  const compacted = new Float32Array(positions.length);
  let length = 0;
  for (let i = 0; i < triangles.length; i++) {
    const vertex = triangles[i]!;
    if (newIndex[vertex]! < 0) {
      newIndex[vertex] = length / 3;
      for (let axis = 3 * vertex; axis < 3 * vertex + 3; axis++) compacted[length++] = positions[axis]!;
    }
    indices[i] = newIndex[vertex]!;
  }
  return { positions: compacted.slice(0, length), indices };
}
