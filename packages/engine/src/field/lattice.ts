import { growingInts } from '../base/growing.js';

/**
 * Lists the samples that a cell shares with each of its 27 neighbors (number 13 is the cell itself), as bits of the
 * cell's 27 samples.
 */
const sharedSamples = Int32Array.from({ length: 27 }, (_, n) => {
  let bits = 0;
  for (let sample = 0; sample < 27; sample++) {
    const isShared = [1, 3, 9].every((stride) => {
      const [toward, at] = [Math.floor(n / stride) % 3, Math.floor(sample / stride) % 3];
      return toward === 1 || toward === at;
    });
    if (isShared) bits |= 1 << sample;
  }
  return bits;
});

/** Samples of a field, x fastest. Some are known (evaluated); the others are interpolated. */
export class Lattice {
  readonly size: readonly [nx: number, ny: number, nz: number];
  readonly values: Float32Array;
  /** One bit per sample. */
  readonly #known: Uint8Array;

  /** A lattice without known samples. */
  constructor(size: Lattice['size']) {
    this.size = size;
    this.values = new Float32Array(size[0] * size[1] * size[2]);
    this.#known = new Uint8Array(Math.ceil(this.values.length / 8));
  }

  setKnown(sample: number): void {
    this.#known[sample >> 3]! |= 1 << (sample & 7);
  }

  isKnown(sample: number): boolean {
    return (this.#known[sample >> 3]! & (1 << (sample & 7))) !== 0;
  }

  /** Returns the lattice with half the step. Its even samples are these and stay known; the others are interpolated. */
  refined(): Lattice {
    const [nx, ny, nz] = this.size;
    const fine = new Lattice([2 * nx - 1, 2 * ny - 1, 2 * nz - 1]);
    const [fineX, fineY, fineZ] = fine.size;
    const from = this.values;
    const to = fine.values;
    let out = 0;
    for (let k = 0; k < fineZ; k++) {
      for (let j = 0; j < fineY; j++) {
        const near = (k >> 1) * ny;
        const far = ((k + 1) >> 1) * ny;
        const a = nx * (near + (j >> 1));
        const b = nx * (near + ((j + 1) >> 1));
        const c = nx * (far + (j >> 1));
        const d = nx * (far + ((j + 1) >> 1));
        let before = 0;
        for (let i = 0; i < nx; i++) {
          // Each is divided before the sum, because densities may be near the maximum of a float.
          const mean = 0.25 * from[a + i]! + 0.25 * from[b + i]! + 0.25 * from[c + i]! + 0.25 * from[d + i]!;
          if (i > 0) to[out + 2 * i - 1] = 0.5 * before + 0.5 * mean;
          to[out + 2 * i] = mean;
          before = mean;
        }
        out += fineX;
      }
    }
    for (let byte = 0; byte < this.#known.length; byte++) {
      // Few samples are known, so most bytes are 0.
      if (this.#known[byte] === 0) continue;
      for (let sample = 8 * byte; sample < 8 * byte + 8; sample++) {
        if (!this.isKnown(sample)) continue;
        const row = Math.floor(sample / nx);
        fine.setKnown(2 * (sample - row * nx + fineX * ((row % ny) + fineY * Math.floor(row / ny))));
      }
    }
    return fine;
  }

  /**
   * Appends the unknown samples of a cell of 2 x 2 x 2 cells, of 27 in all, to `samples`, starting at `count`, and
   * marks them as known.
   *
   * @returns the new count
   */
  takeUnknown(cell: number, samples: Uint32Array, count: number): number {
    const [nx, ny] = this.size;
    const first = this.#firstSample(cell);
    for (let k = 0; k < 3; k++) {
      for (let j = 0; j < 3; j++) {
        const row = first + nx * (j + ny * k);
        for (let sample = row; sample < row + 3; sample++) {
          if (this.isKnown(sample)) continue;
          this.setKnown(sample);
          samples[count++] = sample;
        }
      }
    }
    return count;
  }

  /**
   * Activates and returns the neighbors of these cells (of 2 x 2 x 2) into which the surface continues: a sample on the
   * shared face, edge or corner is on the opposite side of the surface from the neighbor's middle.
   */
  crossedNeighbors(cells: Uint32Array, active: Uint8Array, threshold: number): Uint32Array {
    const { values } = this;
    const [nx, ny, nz] = this.size;
    const [mx, my, mz] = [(nx - 1) / 2, (ny - 1) / 2, (nz - 1) / 2];
    const layer = nx * ny;
    const middle = 1 + nx + layer;
    const crossed = growingInts();
    for (const cell of cells) {
      const row = Math.floor(cell / mx);
      const i = cell - row * mx;
      const j = row % my;
      const k = Math.floor(row / my);
      const first = 2 * (i + nx * (j + ny * k));
      const inside = this.#insideBits(first, threshold);
      for (let n = 0; n < 27; n++) {
        const [di, dj, dk] = [(n % 3) - 1, (Math.floor(n / 3) % 3) - 1, Math.floor(n / 9) - 1];
        if (i + di < 0 || i + di >= mx || j + dj < 0 || j + dj >= my || k + dk < 0 || k + dk >= mz) continue;
        const neighbor = cell + di + mx * (dj + my * dk);
        if (active[neighbor]) continue;
        const shared = sharedSamples[n]!;
        const wanted = values[first + middle + 2 * (di + nx * dj + layer * dk)]! > threshold ? shared : 0;
        if ((inside & shared) === wanted) continue;
        active[neighbor] = 1;
        crossed.push(neighbor);
      }
    }
    return crossed.toArray();
  }

  /** Returns which of the 27 samples of a cell of 2 x 2 x 2 cells are inside, as bit x + 3y + 9z. */
  #insideBits(first: number, threshold: number): number {
    const [nx, ny] = this.size;
    let bits = 0;
    for (let n = 0, z = 0; z < 3; z++) {
      for (let y = 0; y < 3; y++) {
        const row = first + nx * (y + ny * z);
        for (let x = 0; x < 3; x++, n++) if (this.values[row + x]! > threshold) bits |= 1 << n;
      }
    }
    return bits;
  }

  #firstSample(cell: number): number {
    const [nx, ny] = this.size;
    const mx = (nx - 1) / 2;
    const my = (ny - 1) / 2;
    const row = Math.floor(cell / mx);
    return 2 * (cell - row * mx + nx * ((row % my) + ny * Math.floor(row / my)));
  }
}
