/** Sets of the numbers 0 to `size - 1`, which are joined step by step. */
export class DisjointSets {
  readonly #parent: Uint32Array;

  constructor(size: number) {
    this.#parent = Uint32Array.from({ length: size }, (_, i) => i);
  }

  /** Returns the number that stands for the set of `i`. */
  find(i: number): number {
    const parent = this.#parent;
    let at = i;
    while (parent[at] !== at) {
      parent[at] = parent[parent[at]!]!;
      at = parent[at]!;
    }
    return at;
  }

  /** Joins the sets of two numbers under that of `a`. @returns whether they were two */
  join(a: number, b: number): boolean {
    const [rootA, rootB] = [this.find(a), this.find(b)];
    this.#parent[rootB] = rootA;
    return rootA !== rootB;
  }
}
