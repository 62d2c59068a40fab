/** A typed array that grows, for results of unknown length. */
export class Growing<A extends Float32Array | Uint32Array> {
  length = 0;
  #array: A;
  readonly #allocate: (length: number) => A;

  constructor(allocate: (length: number) => A, capacity = 1 << 16) {
    this.#allocate = allocate;
    this.#array = allocate(capacity);
  }

  push(value: number): void {
    if (this.length === this.#array.length) {
      const larger = this.#allocate(2 * this.#array.length);
      larger.set(this.#array);
      this.#array = larger;
    }
    this.#array[this.length++] = value;
  }

  toArray(): A {
    return this.#array.slice(0, this.length) as A;
  }
}

export const growingFloats = () => new Growing((length) => new Float32Array(length));
export const growingInts = () => new Growing((length) => new Uint32Array(length));
