const leafSize = 12;

/** @typedef {{ squared: number, at: number }} Best squared distance and position of the nearest point so far */

/**
 * Finds nearest neighbors among fixed points in space. Our own because no maintained library has a three-dimensional
 * k-d tree over typed arrays, and a comparison makes a million queries.
 *
 * Stores no nodes: the points are permuted so that each node is a range of them, split at the point in its middle.
 */
export class KdTree {
  #points;
  #ids;

  /** @param {Float32Array} points [3·N], N at least 1; copied */
  constructor(points) {
    this.#points = points.slice();
    this.#ids = Uint32Array.from({ length: points.length / 3 }, (_, i) => i);
    this.#sort(0, this.#ids.length - 1, 0);
  }

  /**
   * Finds the nearest point to each of `queries`.
   *
   * @param {Float32Array} queries [3·Q]
   * @returns {{ ids: Uint32Array, distances: Float32Array }} [Q] each: indices into the tree's points; distances
   */
  nearest(queries) {
    const count = queries.length / 3;
    const ids = new Uint32Array(count);
    const distances = new Float32Array(count);
    const last = this.#ids.length - 1;
    const best = { squared: 0, at: 0 };
    for (let i = 0; i < count; i++) {
      best.squared = Infinity;
      this.#search(queries[3 * i], queries[3 * i + 1], queries[3 * i + 2], 0, last, 0, best);
      ids[i] = this.#ids[best.at];
      distances[i] = Math.sqrt(best.squared);
    }
    return { ids, distances };
  }

  /**
   * Updates `best` with the points `left` to `right`, which are a node that is split along `axis`.
   *
   * @type {(x: number, y: number, z: number, left: number, right: number, axis: number, best: Best) => void}
   */
  #search(x, y, z, left, right, axis, best) {
    if (right - left <= leafSize) {
      for (let i = left; i <= right; i++) this.#compare(x, y, z, i, best);
      return;
    }
    const middle = (left + right) >> 1;
    this.#compare(x, y, z, middle, best);
    const beyond = (axis === 0 ? x : axis === 1 ? y : z) - this.#points[3 * middle + axis];
    const next = axis === 2 ? 0 : axis + 1;
    if (beyond < 0) {
      this.#search(x, y, z, left, middle - 1, next, best);
      if (beyond * beyond < best.squared) this.#search(x, y, z, middle + 1, right, next, best);
    } else {
      this.#search(x, y, z, middle + 1, right, next, best);
      if (beyond * beyond < best.squared) this.#search(x, y, z, left, middle - 1, next, best);
    }
  }

  /** @type {(x: number, y: number, z: number, i: number, best: Best) => void} */
  #compare(x, y, z, i, best) {
    const points = this.#points;
    const dx = points[3 * i] - x;
    const dy = points[3 * i + 1] - y;
    const dz = points[3 * i + 2] - z;
    const squared = dx * dx + dy * dy + dz * dz;
    if (squared < best.squared) {
      best.squared = squared;
      best.at = i;
    }
  }

  /** @type {(left: number, right: number, axis: number) => void} */
  #sort(left, right, axis) {
    if (right - left <= leafSize) return;
    const middle = (left + right) >> 1;
    this.#select(middle, left, right, axis);
    const next = axis === 2 ? 0 : axis + 1;
    this.#sort(left, middle - 1, next);
    this.#sort(middle + 1, right, next);
  }

  /**
   * Hoare's quickselect. Afterwards no point before `middle` is above it along the axis, and no point after it below.
   *
   * @type {(middle: number, from: number, to: number, axis: number) => void}
   */
  #select(middle, from, to, axis) {
    let [left, right] = [from, to];
    const points = this.#points;
    while (left < right) {
      const pivot = points[3 * ((left + right) >> 1) + axis];
      let i = left - 1;
      let j = right + 1;
      for (;;) {
        do i++;
        while (points[3 * i + axis] < pivot);
        do j--;
        while (points[3 * j + axis] > pivot);
        if (i >= j) break;
        this.#swap(i, j);
      }
      if (middle <= j) right = j;
      else left = j + 1;
    }
  }

  /** @type {(i: number, j: number) => void} */
  #swap(i, j) {
    const points = this.#points;
    for (let c = 0; c < 3; c++) {
      const kept = points[3 * i + c];
      points[3 * i + c] = points[3 * j + c];
      points[3 * j + c] = kept;
    }
    const id = this.#ids[i];
    this.#ids[i] = this.#ids[j];
    this.#ids[j] = id;
  }
}
