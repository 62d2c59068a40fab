/** A typed array that grows, for results of unknown length. */
abstract class Growing<A extends Float32Array | Uint32Array> {
  length = 0;
  protected abstract array: A;
  protected abstract allocate(length: number): A;

  push(value: number): void {
    if (this.length === this.array.length) {
      const larger = this.allocate(2 * this.array.length);
      larger.set(this.array);
      this.array = larger;
    }
    this.array[this.length++] = value;
  }

  toArray(): A {
    return this.array.slice(0, this.length) as A;
  }
}

export class GrowingFloats extends Growing<Float32Array> {
  protected array: Float32Array;
  protected allocate = (length: number) => new Float32Array(length);

  constructor(capacity = 1 << 16) {
    super();
    this.array = new Float32Array(capacity);
  }
}

export class GrowingInts extends Growing<Uint32Array> {
  protected array: Uint32Array;
  protected allocate = (length: number) => new Uint32Array(length);

  constructor(capacity = 1 << 16) {
    super();
    this.array = new Uint32Array(capacity);
  }
}
