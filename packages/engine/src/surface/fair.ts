import type { Camera } from '../base/camera.js';
import { type ByVertex, type TriangleMesh, vertexNeighbors } from '../base/mesh.js';
import type { ScalarGrid } from '../field/sample-grid.js';
import { type DepthMap, type Raster, rasterize, visibleShare } from '../render/rasterize.js';
import { photoView, projectPoints, type View } from '../render/view.js';
import { vertexNormals } from './normals.js';
import { moveBack, undoFolded } from './undo-folded.js';

// Fairs the side of a surface that the photo does not show. A network guesses its depth separately for each position of
// the image, so that side is bumpy: neighboring normals differ by 4.5 degrees on 24 product photos, and by 2.4 after
// this step. Fairing makes the hidden side continue the visible one, whose vertices stay where they are. Two things
// limit it: waves that are long for the thickness of the object stay, so thin parts keep their thickness; and a vertex
// moves only as far as it remains hidden, so the photo's view does not change.
//
// All constants were tuned on the photos of `models/lab/quality/product-photos.mjs`, by roughness and by eye.

/** Pixels a side of the image of the photo's view that does not change. */
const viewSize = 512;

/** Bumps shorter than this are removed, in edge lengths of the mesh. */
const maxWaveEdges = 13.4;

/** Bumps shorter than this are removed, as a multiple of the object's thickness below them. */
const maxWaveThicknesses = 2;

/** A thickness is measured up to this many cells of the grid. Beyond it, `maxWaveEdges` is the smaller limit. */
const maxThickness = 40;

/** A vertex with this trust keeps its position but for a tenth. More would slow the solver down. */
const maxTrust = 4;

/** Steps of the conjugate gradients. With 30 instead of 20, the hidden side is smoother by 0.05 degrees. */
const iterations = 20;

/** A vertex that would become visible moves by half, a quarter or an eighth, and else not at all. */
const minShareOfMove = 1 / 8;

/** A triangle that turns by 90 degrees has folded over, and its corners stay. */
const minCosine = 0;

/**
 * Fairs the vertices of a closed mesh that the photo does not show, and leaves the photo's view unchanged to the pixel.
 *
 * Minimizes the squared Laplacian of the surface, and the squared moves of the vertices times their trust.
 *
 * @param grid the field around the surface, above `threshold` inside
 * @param camera the photo's, in the space of the mesh
 * @see Botsch and Kobbelt, "An Intuitive Framework for Real-Time Freeform Modeling", SIGGRAPH 2004: a surface of least
 *   bending with fixed borders
 */
export function fair(mesh: TriangleMesh, grid: ScalarGrid, threshold: number, camera: Camera): TriangleMesh {
  const view = photoView(camera, viewSize);
  const before = rasterize(mesh, view);
  const hidden = hiddenVertices(mesh, before);
  const neighbors = vertexNeighbors(mesh.indices, mesh.positions.length / 3);
  const lengths = edgeLengths(mesh, neighbors);
  const trust = trustOf(mesh, hidden, lengths, grid, threshold);
  const moves = fairingMoves(mesh, neighbors, hidden, trust);
  const faired = withHiddenMoves(mesh, moves, hidden, before, view);
  do {
    while (undoFolded(faired, mesh.positions, mesh.indices, minCosine) > 0);
  } while (undoVisible(faired, mesh, before, rasterize({ ...mesh, positions: faired }, view)) > 0);
  return { positions: faired, indices: mesh.indices };
}

/** Finds the vertices of which no triangle is visible in any pixel, in ascending order. */
function hiddenVertices({ positions, indices }: TriangleMesh, { triangle }: Raster): Uint32Array {
  const seen = new Uint8Array(positions.length / 3);
  let last = -1;
  for (let pixel = 0; pixel < triangle.length; pixel++) {
    const hit = triangle[pixel]!;
    if (hit === last || hit < 0) continue;
    last = hit;
    for (let corner = 3 * hit; corner < 3 * hit + 3; corner++) seen[indices[corner]!] = 1;
  }
  return Uint32Array.from(seen.keys()).filter((vertex) => seen[vertex] === 0);
}

/** Computes the mean length of the edges at each vertex. */
function edgeLengths({ positions }: TriangleMesh, { starts, list }: ByVertex): Float32Array {
  const lengths = new Float32Array(starts.length - 1);
  for (let vertex = 0; vertex < lengths.length; vertex++) {
    const at = 3 * vertex;
    let sum = 0;
    for (let n = starts[vertex]!; n < starts[vertex + 1]!; n++) {
      const end = 3 * list[n]!;
      const x = positions[end]! - positions[at]!;
      const y = positions[end + 1]! - positions[at + 1]!;
      const z = positions[end + 2]! - positions[at + 2]!;
      sum += Math.sqrt(x * x + y * y + z * z);
    }
    lengths[vertex] = sum / (starts[vertex + 1]! - starts[vertex]!);
  }
  return lengths;
}

/**
 * Computes how much each hidden vertex is drawn to its own position, against the squared Laplacian. The Laplacian of a
 * wave of length w is about (pi * edge / w)² of its height, so a trust of (pi * edge / w)⁴ halves that wave, removes
 * shorter ones and keeps longer ones.
 */
function trustOf(
  mesh: TriangleMesh,
  hidden: Uint32Array,
  lengths: Float32Array,
  grid: ScalarGrid,
  threshold: number,
): Float32Array {
  const normals = vertexNormals(mesh);
  const trust = new Float32Array(lengths.length);
  for (const vertex of hidden) {
    const thickness = thicknessAt(vertex, mesh.positions, normals, grid, threshold);
    const maxWave = Math.min(maxWaveEdges * lengths[vertex]!, maxWaveThicknesses * thickness);
    trust[vertex] = Math.min(((Math.PI * lengths[vertex]!) / maxWave) ** 4, maxTrust);
  }
  return trust;
}

/** Measures how far it is from a vertex to the opposite surface, against its normal, in cells of the grid. */
function thicknessAt(
  vertex: number,
  positions: Float32Array,
  normals: Float32Array,
  { values, size, origin, cell }: ScalarGrid,
  threshold: number,
): number {
  const [nx, ny, nz] = [normals[3 * vertex]!, normals[3 * vertex + 1]!, normals[3 * vertex + 2]!];
  const x = (positions[3 * vertex]! - origin[0]) / cell;
  const y = (positions[3 * vertex + 1]! - origin[1]) / cell;
  const z = (positions[3 * vertex + 2]! - origin[2]) / cell;
  // The first cells may be on the wrong side of a surface that was smoothed and simplified.
  let cells = 2;
  for (; cells < maxThickness; cells++) {
    const i = Math.round(x - cells * nx);
    const j = Math.round(y - cells * ny);
    const k = Math.round(z - cells * nz);
    // Outside of the grid, the value is undefined.
    if (!(values[i + size[0] * (j + size[1] * k)]! > threshold)) break;
  }
  return cells * cell;
}

/**
 * Solves for the moves [3·V] of the hidden vertices by conjugate gradients. They reach the shortest waves first, so few
 * steps remove the bumps.
 */
function fairingMoves(
  { positions }: TriangleMesh,
  neighbors: ByVertex,
  hidden: Uint32Array,
  trust: Float32Array,
): Float64Array {
  const bent = withNeighbors(hidden, neighbors);
  const bends = new Float64Array(positions.length);
  const bendingForce = (of: Float32Array | Float64Array, force: Float64Array) => {
    bend(of, neighbors, bent, bends);
    sumDifferences(bends, neighbors, hidden, force);
  };
  const moves = new Float64Array(positions.length);
  const force = new Float64Array(positions.length);
  const product = new Float64Array(positions.length);
  bendingForce(positions, force);
  let squared = 0;
  for (const vertex of hidden) {
    for (let axis = 3 * vertex; axis < 3 * vertex + 3; axis++) {
      force[axis] = -force[axis]!;
      squared += force[axis]! * force[axis]!;
    }
  }
  const direction = force.slice();
  for (let iteration = 0; iteration < iterations && squared > 0; iteration++) {
    bendingForce(direction, product);
    const step = squared / addTrusted(product, direction, trust, hidden);
    const before = squared;
    squared = advance(moves, force, direction, product, step, hidden);
    turn(direction, force, squared / before, hidden);
  }
  return moves;
}

function withNeighbors(vertices: Uint32Array, { starts, list }: ByVertex): Uint32Array {
  const included = new Uint8Array(starts.length - 1);
  for (const vertex of vertices) {
    included[vertex] = 1;
    for (let n = starts[vertex]!; n < starts[vertex + 1]!; n++) included[list[n]!] = 1;
  }
  return Uint32Array.from(included.keys()).filter((vertex) => included[vertex] === 1);
}

/** Sums the differences from each vertex to its neighbors. */
function sumDifferences(
  values: Float32Array | Float64Array,
  { starts, list }: ByVertex,
  vertices: Uint32Array,
  sums: Float64Array,
): void {
  for (let i = 0; i < vertices.length; i++) {
    const vertex = vertices[i]!;
    const from = starts[vertex]!;
    const to = starts[vertex + 1]!;
    let x = 0;
    let y = 0;
    let z = 0;
    for (let n = from; n < to; n++) {
      const neighbor = 3 * list[n]!;
      x += values[neighbor]!;
      y += values[neighbor + 1]!;
      z += values[neighbor + 2]!;
    }
    const at = 3 * vertex;
    sums[at] = x - (to - from) * values[at]!;
    sums[at + 1] = y - (to - from) * values[at + 1]!;
    sums[at + 2] = z - (to - from) * values[at + 2]!;
  }
}

/** Computes each vertex's Laplacian divided by its degree: the force on each of its edges. */
function bend(
  values: Float32Array | Float64Array,
  neighbors: ByVertex,
  vertices: Uint32Array,
  bends: Float64Array,
): void {
  sumDifferences(values, neighbors, vertices, bends);
  const { starts } = neighbors;
  for (let i = 0; i < vertices.length; i++) {
    const vertex = vertices[i]!;
    const weight = 1 / (starts[vertex + 1]! - starts[vertex]!) ** 2;
    for (let axis = 3 * vertex; axis < 3 * vertex + 3; axis++) bends[axis]! *= weight;
  }
}

/** Adds the trusted share of the direction to the product. @returns the scalar product of both */
function addTrusted(product: Float64Array, direction: Float64Array, trust: Float32Array, vertices: Uint32Array) {
  let sum = 0;
  for (let i = 0; i < vertices.length; i++) {
    const vertex = vertices[i]!;
    const pull = trust[vertex]!;
    for (let axis = 3 * vertex; axis < 3 * vertex + 3; axis++) {
      product[axis]! += pull * direction[axis]!;
      sum += direction[axis]! * product[axis]!;
    }
  }
  return sum;
}

/** Takes one step along the direction. @returns the remaining force, squared */
function advance(
  moves: Float64Array,
  force: Float64Array,
  direction: Float64Array,
  product: Float64Array,
  step: number,
  vertices: Uint32Array,
): number {
  let squared = 0;
  for (let i = 0; i < vertices.length; i++) {
    for (let axis = 3 * vertices[i]!, end = axis + 3; axis < end; axis++) {
      moves[axis]! += step * direction[axis]!;
      force[axis]! -= step * product[axis]!;
      squared += force[axis]! * force[axis]!;
    }
  }
  return squared;
}

/** Turns the direction towards the force, and keeps a share of the last direction. */
function turn(direction: Float64Array, force: Float64Array, share: number, vertices: Uint32Array): void {
  for (let i = 0; i < vertices.length; i++) {
    for (let axis = 3 * vertices[i]!, end = axis + 3; axis < end; axis++) {
      direction[axis] = force[axis]! + share * direction[axis]!;
    }
  }
}

/** Moves each vertex by the largest share of its move at which it is still hidden. @returns all positions */
function withHiddenMoves(
  { positions }: TriangleMesh,
  moves: Float64Array,
  vertices: Uint32Array,
  map: DepthMap,
  view: View,
): Float32Array {
  const result = positions.slice();
  let rest = vertices;
  for (let share = 1; share >= minShareOfMove && rest.length > 0; share /= 2) {
    const points = new Float32Array(3 * rest.length);
    rest.forEach((vertex, i) => {
      for (let axis = 0; axis < 3; axis++) {
        points[3 * i + axis] = positions[3 * vertex + axis]! + share * moves[3 * vertex + axis]!;
      }
    });
    const projected = projectPoints(view, points);
    rest = rest.filter((vertex, i) => {
      if (visibleShare(map, projected[3 * i]!, projected[3 * i + 1]!, projected[3 * i + 2]!) > 0) return true;
      result.set(points.subarray(3 * i, 3 * i + 3), 3 * vertex);
      return false;
    });
  }
  return result;
}

/** Moves the corners of triangles back that are visible only now. @returns the number of moved vertices */
function undoVisible(
  faired: Float32Array,
  { positions, indices }: TriangleMesh,
  before: Raster,
  after: Raster,
): number {
  let undone = 0;
  for (let pixel = 0; pixel < after.triangle.length; pixel++) {
    const hit = after.triangle[pixel]!;
    if (hit < 0 || hit === before.triangle[pixel]) continue;
    for (let corner = 3 * hit; corner < 3 * hit + 3; corner++) {
      if (moveBack(faired, positions, indices[corner]!)) undone++;
    }
  }
  return undone;
}
