import type { TriangleMesh } from '../base/mesh.js';

/**
 * Smooths a closed mesh without shrinking it: each pass moves every vertex towards the mean of its neighbours, then a
 * little further back, which cancels the low frequencies' loss.
 *
 * @see Taubin, "A Signal Processing Approach to Fair Surface Design", SIGGRAPH 1995; factors as recommended there
 */
export function smooth({ positions, indices }: TriangleMesh, passes: number): TriangleMesh {
  const neighbours = neighboursOf(positions.length / 3, indices);
  let current = positions.slice();
  let next = new Float32Array(positions.length);
  for (let half = 0; half < 2 * passes; half++) {
    relax(current, next, neighbours, half % 2 === 0 ? 0.5 : -0.53);
    [current, next] = [next, current];
  }
  return { positions: current, indices };
}

/** The neighbours of vertex v are `list` from `starts[v]` to `starts[v + 1]`. */
interface Neighbours {
  readonly starts: Uint32Array;
  readonly list: Uint32Array;
}

/** In a closed mesh each edge is walked once in either direction, so where a corner leads to meets each neighbour once. */
function neighboursOf(vertexCount: number, indices: Uint32Array): Neighbours {
  const starts = new Uint32Array(vertexCount + 1);
  for (let i = 0; i < indices.length; i++) starts[indices[i]! + 1]!++;
  for (let vertex = 0; vertex < vertexCount; vertex++) starts[vertex + 1]! += starts[vertex]!;
  const filled = starts.slice(0, vertexCount);
  const list = new Uint32Array(indices.length);
  for (let t = 0; t < indices.length; t += 3) {
    const [a, b, c] = [indices[t]!, indices[t + 1]!, indices[t + 2]!];
    list[filled[a]!++] = b;
    list[filled[b]!++] = c;
    list[filled[c]!++] = a;
  }
  return { starts, list };
}

function relax(from: Float32Array, to: Float32Array, { starts, list }: Neighbours, factor: number): void {
  for (let vertex = 0; vertex < starts.length - 1; vertex++) {
    const start = starts[vertex]!;
    const end = starts[vertex + 1]!;
    let [x, y, z] = [0, 0, 0];
    for (let n = start; n < end; n++) {
      const neighbour = 3 * list[n]!;
      x += from[neighbour]!;
      y += from[neighbour + 1]!;
      z += from[neighbour + 2]!;
    }
    const at = 3 * vertex;
    const weight = end > start ? factor / (end - start) : 0;
    const keep = end > start ? 1 - factor : 1;
    to[at] = keep * from[at]! + weight * x;
    to[at + 1] = keep * from[at + 1]! + weight * y;
    to[at + 2] = keep * from[at + 2]! + weight * z;
  }
}
