import { type TriangleMesh, vertexNeighbors } from '../base/mesh.js';

export interface PartlySeen {
  /** [3·V] the photo's color at each vertex, valid where `seen`. */
  readonly colors: Float32Array;
  /** [V] visibility of each vertex in the photo, 0..1. */
  readonly seen: Float32Array;
  /** [3·V] a guess for each vertex. */
  readonly guesses: Float32Array;
  /** [V] weight of the guess against the neighbors, much less than 1. */
  readonly trust: Float32Array;
}

/** Gauss-Seidel sweeps, in alternating order, so that colors spread in both directions. */
const sweeps = 120;

/**
 * Spreads colors along the surface to vertices that the photo does not light: each becomes the mean of its neighbors
 * (harmonic interpolation), drawn a little towards its guess.
 *
 * @returns linear colors [3·V]
 */
export function fillUnlit({ indices }: TriangleMesh, { colors, seen, guesses, trust }: PartlySeen): Float32Array {
  const vertexCount = seen.length;
  const { starts, list } = vertexNeighbors(indices, vertexCount);
  const filled = Float32Array.from(colors, (color, i) => {
    const weight = seen[Math.floor(i / 3)]!;
    return weight * color + (1 - weight) * guesses[i]!;
  });
  for (let sweep = 0; sweep < sweeps; sweep++) {
    for (let step = 0; step < vertexCount; step++) {
      const vertex = sweep % 2 === 0 ? step : vertexCount - 1 - step;
      const known = seen[vertex]!;
      if (known > 0.98) continue;
      const [from, to] = [starts[vertex]!, starts[vertex + 1]!];
      const pull = trust[vertex]!;
      // The photo's weight against the neighbors grows without bound as visibility approaches 1.
      const hold = known / (1 - known + 1e-3);
      const total = 1 + pull + hold;
      for (let c = 0; c < 3; c++) {
        let sum = 0;
        for (let n = from; n < to; n++) sum += filled[3 * list[n]! + c]!;
        const mean = to > from ? sum / (to - from) : guesses[3 * vertex + c]!;
        filled[3 * vertex + c] = (mean + pull * guesses[3 * vertex + c]! + hold * colors[3 * vertex + c]!) / total;
      }
    }
  }
  return filled;
}
