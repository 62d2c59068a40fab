/**
 * A priority queue of numbers by cost, for Dijkstra's algorithm: costs are whole, and none is below the current cost or
 * `maxStep` above it. Pushing and popping take constant time.
 *
 * @see Dial, "Algorithm 360: Shortest-Path Forest with Topological Ordering", Communications of the ACM 1969
 */
export class CostQueue {
  /** The cost of the number that was popped last. */
  cost = 0;
  readonly #buckets: number[][];
  #length = 0;

  constructor(maxStep: number) {
    this.#buckets = Array.from({ length: maxStep + 1 }, () => []);
  }

  push(item: number, cost: number): void {
    this.#buckets[cost % this.#buckets.length]!.push(item);
    this.#length++;
  }

  /** Removes one of the numbers of least cost. */
  pop(): number | undefined {
    if (this.#length === 0) return undefined;
    this.#length--;
    for (;;) {
      const item = this.#buckets[this.cost % this.#buckets.length]!.pop();
      if (item !== undefined) return item;
      this.cost++;
    }
  }
}
