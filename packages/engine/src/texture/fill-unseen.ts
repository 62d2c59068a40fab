import type { TriangleMesh } from '../base/mesh.js';

export interface PartlySeen {
  /** [3·V] what the photo shows at each vertex, worth something where it was `seen`. */
  readonly colors: Float32Array;
  /** [V] 0..1. */
  readonly seen: Float32Array;
  /** [3·V] a guess for each vertex, and how far to `trust` it [V], small against 1. */
  readonly guesses: Float32Array;
  readonly trust: Float32Array;
}

/** Gauss-Seidel sweeps; colours travel one edge a sweep, twice as far with the alternating order. */
const sweeps = 120;

/**
 * Spreads colours along the surface from where they are known to where they are not: each unseen vertex becomes the
 * mean of its neighbours (the harmonic interpolation), drawn a little towards its guess.
 *
 * Returns linear colours [3·V].
 */
export function fillUnseen({ indices }: TriangleMesh, { colors, seen, guesses, trust }: PartlySeen): Float32Array {
  const vertexCount = seen.length;
  const { start, neighbours } = adjacency(indices, vertexCount);
  const filled = Float32Array.from(colors, (color, i) => {
    const weight = seen[Math.floor(i / 3)]!;
    return weight * color + (1 - weight) * guesses[i]!;
  });
  for (let sweep = 0; sweep < sweeps; sweep++) {
    for (let step = 0; step < vertexCount; step++) {
      const vertex = sweep % 2 === 0 ? step : vertexCount - 1 - step;
      const known = seen[vertex]!;
      if (known > 0.98) continue;
      const [from, to] = [start[vertex]!, start[vertex + 1]!];
      const pull = trust[vertex]!;
      // How much the photo counts against the neighbours grows without bound as it becomes certain.
      const hold = known / (1 - known + 1e-3);
      const total = 1 + pull + hold;
      for (let c = 0; c < 3; c++) {
        let sum = 0;
        for (let n = from; n < to; n++) sum += filled[3 * neighbours[n]! + c]!;
        const mean = to > from ? sum / (to - from) : guesses[3 * vertex + c]!;
        filled[3 * vertex + c] = (mean + pull * guesses[3 * vertex + c]! + hold * colors[3 * vertex + c]!) / total;
      }
    }
  }
  return filled;
}

/** Each vertex's neighbours, as `neighbours[start[v]..start[v + 1]]`; the mesh is closed, so each edge is met both ways. */
function adjacency(indices: Uint32Array, vertexCount: number): { start: Uint32Array; neighbours: Uint32Array } {
  const start = new Uint32Array(vertexCount + 1);
  for (const vertex of indices) start[vertex + 1]!++;
  for (let vertex = 0; vertex < vertexCount; vertex++) start[vertex + 1]! += start[vertex]!;
  const next = start.slice();
  const neighbours = new Uint32Array(indices.length);
  for (let t = 0; t < indices.length; t += 3) {
    for (let c = 0; c < 3; c++) neighbours[next[indices[t + c]!]!++] = indices[t + ((c + 1) % 3)]!;
  }
  return { start, neighbours };
}
