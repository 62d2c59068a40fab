import FlatQueue from 'flatqueue';
import type { TriangleMesh } from '../base/mesh.js';
import { compact } from './clean.js';

/**
 * Reduces a closed 2-manifold to at most `maxTriangles` by collapsing edges in order of quadric error. The result is a
 * closed 2-manifold with the same parts and handles, because an edge collapses only if its ends share just the two
 * neighbors opposite to it (the link condition).
 *
 * Collapses that would flip a triangle come last, when nothing else reaches the budget. If parts and handles need more
 * triangles than that, the result has the minimum for them.
 * @see Garland and Heckbert, "Surface Simplification Using Quadric Error Metrics", SIGGRAPH 1997; Dey, Edelsbrunner,
 *      Guha and Nekhayev, "Topology Preserving Edge Contraction", 1999, for the link condition
 */
export function collapseEdges(mesh: TriangleMesh, maxTriangles: number): TriangleMesh {
  const collapser = new Collapser(mesh);
  collapser.run(maxTriangles, true);
  while (collapser.triangleCount > maxTriangles && collapser.run(maxTriangles, false) > 0);
  return collapser.mesh();
}

// A triangle counts as flipped if the cosine between its normals before and after is at most this.
const minCosine = 0.2;
const none = -1;

class Collapser {
  triangleCount: number;
  readonly #positions: Float64Array;
  readonly #indices: Uint32Array;
  readonly #alive: Uint8Array;
  /** The corners at each vertex as a linked list: of a vertex the first, of a corner the next. */
  readonly #firstCorner: Int32Array;
  readonly #nextCorner: Int32Array;
  /** Ten numbers per vertex: the upper triangle of its symmetric 4 x 4 matrix, row by row. */
  readonly #quadrics: Float64Array;
  /** Increases with each change around a vertex, which invalidates its queued edges. */
  readonly #version: Uint32Array;
  /** The last search that visited a vertex. */
  readonly #visited: Uint32Array;
  #search = 0;
  /** Edges by cost, each with the sum of its ends' versions when it was queued. */
  readonly #queue = new FlatQueue<readonly [a: number, b: number, version: number]>();
  readonly #position = new Float64Array(3);

  constructor({ positions, indices }: TriangleMesh) {
    const vertexCount = positions.length / 3;
    this.triangleCount = indices.length / 3;
    this.#positions = Float64Array.from(positions);
    this.#indices = indices.slice();
    this.#alive = new Uint8Array(this.triangleCount).fill(1);
    this.#firstCorner = new Int32Array(vertexCount).fill(none);
    this.#nextCorner = new Int32Array(indices.length);
    this.#quadrics = new Float64Array(10 * vertexCount);
    this.#version = new Uint32Array(vertexCount);
    this.#visited = new Uint32Array(vertexCount);
    for (let corner = 0; corner < indices.length; corner++) {
      const vertex = indices[corner]!;
      this.#nextCorner[corner] = this.#firstCorner[vertex]!;
      this.#firstCorner[vertex] = corner;
    }
    for (let t = 0; t < indices.length; t += 3) this.#addPlane(t);
  }

  /** Collapses edges until the budget is reached or none is left. @returns the number of collapsed edges */
  run(maxTriangles: number, keepOrientation: boolean): number {
    this.#queue.clear();
    for (let corner = 0; corner < this.#indices.length; corner++) {
      if (!this.#alive[Math.floor(corner / 3)]) continue;
      const [a, b] = [this.#indices[corner]!, this.#indices[following(corner)]!];
      if (a < b) this.#enqueue(a, b);
    }
    let collapsed = 0;
    while (this.triangleCount > maxTriangles) {
      const edge = this.#queue.pop();
      if (!edge) break;
      const [a, b, version] = edge;
      if (version !== this.#version[a]! + this.#version[b]!) continue;
      if (!this.#linkHolds(a, b)) continue;
      this.#findBestPosition(a, b);
      if (keepOrientation && (this.#flips(a, b) || this.#flips(b, a))) continue;
      this.#collapse(a, b);
      collapsed++;
    }
    return collapsed;
  }

  mesh(): TriangleMesh {
    const kept = new Uint32Array(3 * this.triangleCount);
    for (let t = 0, i = 0; t < this.#alive.length; t++) {
      if (!this.#alive[t]) continue;
      for (let corner = 3 * t; corner < 3 * t + 3; corner++) kept[i++] = this.#indices[corner]!;
    }
    return compact(Float32Array.from(this.#positions), kept);
  }

  /** Adds the squared distance to a triangle's plane, weighted by its area, to its corners' quadrics. */
  #addPlane(t: number): void {
    const p = this.#positions;
    const [a, b, c] = [3 * this.#indices[t]!, 3 * this.#indices[t + 1]!, 3 * this.#indices[t + 2]!];
    const [ux, uy, uz] = [p[b]! - p[a]!, p[b + 1]! - p[a + 1]!, p[b + 2]! - p[a + 2]!];
    const [vx, vy, vz] = [p[c]! - p[a]!, p[c + 1]! - p[a + 1]!, p[c + 2]! - p[a + 2]!];
    let [x, y, z] = [uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx];
    const area = Math.hypot(x, y, z);
    if (area === 0) return;
    x /= area;
    y /= area;
    z /= area;
    const w = -(x * p[a]! + y * p[a + 1]! + z * p[a + 2]!);
    for (let corner = t; corner < t + 3; corner++) {
      const q = 10 * this.#indices[corner]!;
      this.#quadrics[q]! += area * x * x;
      this.#quadrics[q + 1]! += area * x * y;
      this.#quadrics[q + 2]! += area * x * z;
      this.#quadrics[q + 3]! += area * x * w;
      this.#quadrics[q + 4]! += area * y * y;
      this.#quadrics[q + 5]! += area * y * z;
      this.#quadrics[q + 6]! += area * y * w;
      this.#quadrics[q + 7]! += area * z * z;
      this.#quadrics[q + 8]! += area * z * w;
      this.#quadrics[q + 9]! += area * w * w;
    }
  }

  #enqueue(a: number, b: number): void {
    const p = this.#positions;
    const length = Math.hypot(p[3 * a]! - p[3 * b]!, p[3 * a + 1]! - p[3 * b + 1]!, p[3 * a + 2]! - p[3 * b + 2]!);
    // On a plane every collapse costs 0. Shorter edges first keep its triangles well shaped.
    const cost = this.#findBestPosition(a, b) + 1e-9 * length * length;
    this.#queue.push([a, b, this.#version[a]! + this.#version[b]!], cost);
  }

  /**
   * Sets `#position` to the point of minimum error, or else the best of both ends and the middle.
   * @returns the error
   */
  #findBestPosition(a: number, b: number): number {
    const p = this.#positions;
    const best = this.#solve(a, b);
    if (best < Infinity) return best;
    let min = Infinity;
    for (let share = 0; share <= 1; share += 0.5) {
      const x = p[3 * a]! + share * (p[3 * b]! - p[3 * a]!);
      const y = p[3 * a + 1]! + share * (p[3 * b + 1]! - p[3 * a + 1]!);
      const z = p[3 * a + 2]! + share * (p[3 * b + 2]! - p[3 * a + 2]!);
      const error = this.#error(a, x, y, z) + this.#error(b, x, y, z);
      if (error >= min) continue;
      min = error;
      this.#position[0] = x;
      this.#position[1] = y;
      this.#position[2] = z;
    }
    return min;
  }

  /** The same for the point where the error's gradient is 0. @returns Infinity if it is far away or not unique */
  #solve(a: number, b: number): number {
    const q = this.#quadrics;
    const [i, j] = [10 * a, 10 * b];
    const xx = q[i]! + q[j]!;
    const xy = q[i + 1]! + q[j + 1]!;
    const xz = q[i + 2]! + q[j + 2]!;
    const yy = q[i + 4]! + q[j + 4]!;
    const yz = q[i + 5]! + q[j + 5]!;
    const zz = q[i + 7]! + q[j + 7]!;
    const [cx, cy, cz] = [yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy];
    const determinant = xx * cx + xy * cy + xz * cz;
    if (!(determinant > 1e-6 * (xx + yy + zz) ** 3)) return Infinity;
    const [bx, by, bz] = [-q[i + 3]! - q[j + 3]!, -q[i + 6]! - q[j + 6]!, -q[i + 8]! - q[j + 8]!];
    const x = (cx * bx + cy * by + cz * bz) / determinant;
    const y = (cy * bx + (xx * zz - xz * xz) * by + (xy * xz - xx * yz) * bz) / determinant;
    const z = (cz * bx + (xy * xz - xx * yz) * by + (xx * yy - xy * xy) * bz) / determinant;
    const p = this.#positions;
    const away = (v: number) => Math.hypot(x - p[3 * v]!, y - p[3 * v + 1]!, z - p[3 * v + 2]!);
    const length = Math.hypot(p[3 * a]! - p[3 * b]!, p[3 * a + 1]! - p[3 * b + 1]!, p[3 * a + 2]! - p[3 * b + 2]!);
    if (!(away(a) + away(b) <= 2 * length)) return Infinity;
    this.#position[0] = x;
    this.#position[1] = y;
    this.#position[2] = z;
    return this.#error(a, x, y, z) + this.#error(b, x, y, z);
  }

  #error(vertex: number, x: number, y: number, z: number): number {
    const q = this.#quadrics;
    const i = 10 * vertex;
    return Math.abs(
      x * (q[i]! * x + 2 * (q[i + 1]! * y + q[i + 2]! * z + q[i + 3]!)) +
        y * (q[i + 4]! * y + 2 * (q[i + 5]! * z + q[i + 6]!)) +
        z * (q[i + 7]! * z + 2 * q[i + 8]!) +
        q[i + 9]!,
    );
  }

  /** Whether the ends share exactly two neighbors, and both would keep at least three triangles. */
  #linkHolds(a: number, b: number): boolean {
    const search = ++this.#search;
    // In a closed manifold each neighbor follows the vertex in exactly one of its triangles.
    for (let corner = this.#firstCorner[a]!; corner !== none; corner = this.#nextCorner[corner]!) {
      this.#visited[this.#indices[following(corner)]!] = search;
    }
    let shared = 0;
    for (let corner = this.#firstCorner[b]!; corner !== none; corner = this.#nextCorner[corner]!) {
      const neighbor = this.#indices[following(corner)]!;
      if (this.#visited[neighbor] !== search) continue;
      if (++shared > 2 || this.#degree(neighbor) <= 3) return false;
    }
    return shared === 2;
  }

  #degree(vertex: number): number {
    let degree = 0;
    for (let corner = this.#firstCorner[vertex]!; corner !== none; corner = this.#nextCorner[corner]!) degree++;
    return degree;
  }

  /** Whether a remaining triangle at `vertex` would flip with the vertex at `#position`. */
  #flips(vertex: number, other: number): boolean {
    const p = this.#positions;
    const [px, py, pz] = [this.#position[0]!, this.#position[1]!, this.#position[2]!];
    for (let corner = this.#firstCorner[vertex]!; corner !== none; corner = this.#nextCorner[corner]!) {
      const b = this.#indices[following(corner)]!;
      const c = this.#indices[following(following(corner))]!;
      if (b === other || c === other) continue;
      const [x, y, z] = [p[3 * b]!, p[3 * b + 1]!, p[3 * b + 2]!];
      const [ex, ey, ez] = [p[3 * c]! - x, p[3 * c + 1]! - y, p[3 * c + 2]! - z];
      const [ux, uy, uz] = [p[3 * vertex]! - x, p[3 * vertex + 1]! - y, p[3 * vertex + 2]! - z];
      const [vx, vy, vz] = [px - x, py - y, pz - z];
      const [mx, my, mz] = [ey * uz - ez * uy, ez * ux - ex * uz, ex * uy - ey * ux];
      const [nx, ny, nz] = [ey * vz - ez * vy, ez * vx - ex * vz, ex * vy - ey * vx];
      const cosine = mx * nx + my * ny + mz * nz;
      if (cosine <= minCosine * Math.hypot(mx, my, mz) * Math.hypot(nx, ny, nz)) return true;
    }
    return false;
  }

  /** Moves `a` to `#position` and gives it the triangles of `b`, except for the two that have both. */
  #collapse(a: number, b: number): void {
    for (let corner = this.#firstCorner[b]!; corner !== none; ) {
      const next = this.#nextCorner[corner]!;
      const triangle = Math.floor(corner / 3);
      const [second, third] = [following(corner), following(following(corner))];
      if (this.#indices[second] === a || this.#indices[third] === a) {
        this.#alive[triangle] = 0;
        this.triangleCount--;
        this.#unlink(second);
        this.#unlink(third);
      } else {
        this.#indices[corner] = a;
        this.#nextCorner[corner] = this.#firstCorner[a]!;
        this.#firstCorner[a] = corner;
      }
      corner = next;
    }
    this.#firstCorner[b] = none;
    this.#version[b]!++;
    for (let axis = 0; axis < 3; axis++) this.#positions[3 * a + axis] = this.#position[axis]!;
    for (let i = 0; i < 10; i++) this.#quadrics[10 * a + i]! += this.#quadrics[10 * b + i]!;
    this.#version[a]!++;
    for (let corner = this.#firstCorner[a]!; corner !== none; corner = this.#nextCorner[corner]!) {
      this.#enqueue(a, this.#indices[following(corner)]!);
    }
  }

  #unlink(corner: number): void {
    const vertex = this.#indices[corner]!;
    let before = this.#firstCorner[vertex]!;
    if (before === corner) {
      this.#firstCorner[vertex] = this.#nextCorner[corner]!;
      return;
    }
    while (this.#nextCorner[before] !== corner) before = this.#nextCorner[before]!;
    this.#nextCorner[before] = this.#nextCorner[corner]!;
  }
}

/** The next corner of the same triangle. */
const following = (corner: number): number => (corner % 3 === 2 ? corner - 2 : corner + 1);
