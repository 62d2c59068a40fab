export type Point = readonly [x: number, y: number, z: number];

/** Points in cubes with side `reach`, to find the nearest one within that distance quickly. */
export class PointGrid {
  readonly #points = new Map<number, Point[]>();
  readonly #reach: number;

  constructor(reach: number) {
    this.#reach = reach;
  }

  add(point: Point): void {
    const key = keyOf(...this.#cubeOf(point));
    const cube = this.#points.get(key);
    if (cube) cube.push(point);
    else this.#points.set(key, [point]);
  }

  /** Finds the nearest point that is less than `limit` away, and its distance. `limit` is at most the reach. */
  nearest([x, y, z]: Point, limit = this.#reach): { readonly point: Point | undefined; readonly distance: number } {
    const [i, j, k] = this.#cubeOf([x, y, z]);
    let squared = limit * limit;
    let point: Point | undefined;
    for (let n = 0; n < 27; n++) {
      const cube = this.#points.get(keyOf(i + (n % 3) - 1, j + (Math.floor(n / 3) % 3) - 1, k + Math.floor(n / 9) - 1));
      if (!cube) continue;
      for (const other of cube) {
        const away = (other[0] - x) ** 2 + (other[1] - y) ** 2 + (other[2] - z) ** 2;
        if (away < squared) [point, squared] = [other, away];
      }
    }
    return { point, distance: Math.sqrt(squared) };
  }

  #cubeOf([x, y, z]: Point): Point {
    return [Math.floor(x / this.#reach), Math.floor(y / this.#reach), Math.floor(z / this.#reach)];
  }
}

/** Cubes 1024 apart share a key, which only makes the search compare more points. */
const keyOf = (i: number, j: number, k: number): number => ((i & 1023) << 20) | ((j & 1023) << 10) | (k & 1023);
