import type { Camera } from '../base/camera.js';
import { CostQueue } from '../base/cost-queue.js';
import { DisjointSets } from '../base/disjoint-sets.js';
import type { Cutout } from '../base/image.js';
import { clamp, sampleBilinear } from '../base/interpolation.js';
import type { TriangleMesh } from '../base/mesh.js';
import { signedDistance } from '../field/distance-transform.js';
import type { SampledGrid, ScalarGrid } from '../field/sample-grid.js';
import { matteChannel } from '../photo/frame.js';
import { type DepthMap, depthMap } from '../render/rasterize.js';
import { photoView, projectPoints, type View } from '../render/view.js';
import { connectedParts } from './clean.js';

// Joins what a network left loose, such as the leg of a chair, to the rest of the object. One object is one piece, and
// its outline shows which parts belong together: those between which there is a way that does not leave it. A part is
// joined along the likeliest way through what no photo sees, which is the cheapest path in the field's probabilities.

/** Pixels a side of an outline. */
const outlineSize = 256;

/** From this coverage on, a path may pass through a pixel: a wire may cover no pixel by half. */
const minCoverage = 0.125;

/** How far a path may stand out of a front, in cells. */
const tolerance = 0.75;

/** Radius of the thinnest joint, in cells. */
const minRadius = 1.5;

/** Radius, in cells, of a joint without room for more. It is larger than a cell, so that the joint is connected. */
const coreRadius = 1.25;

/** Maximum negative logarithm of a cell's probability, which is the cost of a path through it. */
const maxCost = 6;

/** Added to the cost of a cell for each cell of room that the thinnest joint lacks, but for at most three. */
const narrowCost = 4;

/** Costs are whole numbers: this many per unit. */
const costUnits = 16;

/** The maximum cost of a step, which is across the diagonal of a cell. */
const maxStepCost = Math.ceil(costUnits * Math.sqrt(3) * (maxCost + 3 * narrowCost));

/** A photo from which a field was made, and its camera in the space of the field. */
export interface Photographed {
  readonly cutout: Cutout;
  readonly camera: Camera;
}

/**
 * Joins the parts of an object that no outline separates, through what no photo sees: within the outlines, and behind
 * the fronts. Each joint is about as thick as the thinner of its two ends.
 *
 * @param mesh the surface of the grid without islands and cavities; see `clean`
 * @returns a grid without islands, or undefined if there is nothing to join
 */
export function joinParts(
  grid: SampledGrid,
  mesh: TriangleMesh,
  threshold: number,
  photos: readonly Photographed[],
): SampledGrid | undefined {
  const { partOf, count } = connectedParts(mesh);
  if (count < 2) return undefined;
  const { labels, surface, steepness } = labelParts(grid, mesh, threshold, partOf);
  const sights = photos.map((photo) => sightOf(photo, mesh));
  const placeOf = placesIn(grid, sights);
  const paths = findPaths(grid, labels, surface, count, stepCosts(grid, labels, placeOf));
  if (paths.length === 0) return undefined;

  const densityAt = (cells: number) => grid.scale.densityAt(steepness * cells);
  const values = grid.values.slice();
  const outside = densityAt(-1);
  for (let i = 0; i < values.length; i++) if (labels[i] === 0 && values[i]! > threshold) values[i] = outside;
  const radii = rodRadii(labels, grid.size, count);
  for (const { samples, ends } of paths) {
    const radius = Math.max(minRadius, Math.min(radii[ends[0]]!, radii[ends[1]]!));
    addJoint(values, grid.size, samples, radius, placeOf, densityAt);
  }
  return { ...grid, values };
}

/**
 * Labels the samples inside each part with its number, from 1 on. The others are 0.
 *
 * @returns also the samples next to the surface, and by how much the density changes per cell across it, on the grid's
 *   scale
 */
function labelParts(
  { values, size: [nx, ny], origin, cell, scale }: SampledGrid,
  { positions }: TriangleMesh,
  threshold: number,
  partOf: Uint32Array,
) {
  const labels = new Uint32Array(values.length);
  const strides = [1, nx, nx * ny];
  const surface: number[] = [];
  let change = 0;
  for (let vertex = 0; vertex < partOf.length; vertex++) {
    const at = [0, 1, 2].map((axis) => (positions[3 * vertex + axis]! - origin[axis]!) / cell);
    // A vertex is on the edge between two samples, so only one of its coordinates is not whole.
    const fractions = at.map((value) => Math.abs(value - Math.round(value)));
    const along = fractions.indexOf(Math.max(...fractions));
    const low = at.reduce(
      (sum, value, axis) => sum + strides[axis]! * (axis === along ? Math.floor(value) : Math.round(value)),
      0,
    );
    const high = low + strides[along]!;
    change += Math.abs(scale.of(values[high]!) - scale.of(values[low]!));
    const inside = values[low]! > threshold ? low : high;
    if (labels[inside] !== 0) continue;
    labels[inside] = partOf[vertex]! + 1;
    surface.push(inside);
  }
  const stack = surface.slice();
  for (let sample = stack.pop(); sample !== undefined; sample = stack.pop()) {
    // The border of the grid is outside, so each sample inside has six neighbors.
    for (const step of [1, -1, nx, -nx, nx * ny, -nx * ny]) {
      const neighbor = sample + step;
      if (labels[neighbor] !== 0 || !(values[neighbor]! > threshold)) continue;
      labels[neighbor] = labels[sample]!;
      stack.push(neighbor);
    }
  }
  return { labels, surface, steepness: change / partOf.length };
}

/** Estimates the radius of each part, in cells, from its volume and surface as if it were a rod. By label. */
function rodRadii(labels: Uint32Array, [nx, ny]: ScalarGrid['size'], count: number): Float64Array {
  const volumes = new Float64Array(count + 1);
  const faces = new Float64Array(count + 1);
  const steps = [1, -1, nx, -nx, nx * ny, -nx * ny];
  labels.forEach((label, sample) => {
    if (label === 0) return;
    volumes[label]!++;
    for (const step of steps) if (labels[sample + step] === 0) faces[label]!++;
  });
  // A rod has r / 2 of volume per area, and surfaces of all directions have 3 / 2 of their area in faces of cells.
  return volumes.map((volume, label) => (3 * volume) / faces[label]!);
}

interface Path {
  /** Neighbors share a face, an edge or a corner. The first and the last one are inside the two parts. */
  readonly samples: readonly number[];
  /** The labels of the two parts. */
  readonly ends: readonly [number, number];
}

/**
 * Finds the cheapest paths that join all parts between which there is a way. All parts but the largest grow at once, by
 * Dijkstra's algorithm, and the cheapest path between two leads through the place where they meet. The largest waits:
 * growing from its large surface would take most of the time.
 *
 * @param surface the samples of the parts from which they grow
 * @param costOf returns the cost of a step between two neighbors, per cell of its length
 * @see Mehlhorn, "A Faster Approximation Algorithm for the Steiner Problem in Graphs", 1988, where all parts grow
 */
function findPaths(
  { size, values }: ScalarGrid,
  labels: Uint32Array,
  surface: readonly number[],
  count: number,
  costOf: (from: number, to: number) => number,
): Path[] {
  const reachedBy = labels.slice();
  const from = new Int32Array(values.length).fill(-1);
  const costs = new Float32Array(values.length).fill(Infinity);
  const isSettled = new Uint8Array(values.length);
  const neighbors = neighborsIn(size);
  const queue = new CostQueue(maxStepCost);
  const meetings = new Meetings();
  const sets = new DisjointSets(count + 1);
  const paths: Path[] = [];
  const joinMet = (below: number) => {
    for (const { ends, samples } of meetings.take(below)) {
      if (!sets.join(...ends)) continue;
      paths.push({ samples: [...traced(samples[0], from).reverse(), ...traced(samples[1], from)], ends });
    }
  };

  const sizes = new Uint32Array(count + 1);
  for (const sample of surface) sizes[labels[sample]!]!++;
  const largest = sizes.indexOf(Math.max(...sizes));
  for (const sample of surface) {
    costs[sample] = 0;
    if (labels[sample] === largest) isSettled[sample] = 1;
    else queue.push(sample, 0);
  }
  for (let sample = queue.pop(); sample !== undefined && paths.length < count - 1; sample = queue.pop()) {
    if (isSettled[sample]) continue;
    isSettled[sample] = 1;
    const { cost } = queue;
    // Parts that have not met yet are farther apart than the cost up to which one of them has grown.
    joinMet(cost);
    const own = reachedBy[sample]!;
    for (const { step, length } of neighbors) {
      const neighbor = sample + step;
      const other = reachedBy[neighbor]!;
      if (isSettled[neighbor] ? other === own : labels[neighbor] !== 0) continue;
      const stepCost = Math.round(costUnits * length * costOf(sample, neighbor));
      if (isSettled[neighbor]) {
        meetings.add(cost + stepCost + costs[neighbor]!, [own, other], [sample, neighbor]);
      } else if (cost + stepCost < costs[neighbor]!) {
        costs[neighbor] = cost + stepCost;
        reachedBy[neighbor] = own;
        from[neighbor] = sample;
        queue.push(neighbor, cost + stepCost);
      }
    }
  }
  joinMet(Infinity);
  return paths;
}

interface Meeting extends Path {
  readonly cost: number;
  /** Neighbors, each reached by one of the two parts. */
  readonly samples: readonly [number, number];
}

/** Where the parts have met so far: the cheapest meeting of each two. */
class Meetings {
  readonly #cheapest = new Map<string, Meeting>();
  #minCost = Infinity;

  add(cost: number, ends: Meeting['ends'], samples: Meeting['samples']): void {
    const pair = `${Math.min(...ends)} ${Math.max(...ends)}`;
    if (cost >= (this.#cheapest.get(pair)?.cost ?? Infinity)) return;
    this.#cheapest.set(pair, { cost, ends, samples });
    this.#minCost = Math.min(this.#minCost, cost);
  }

  /** Removes the meetings that cost less than `below`, and returns them by cost. */
  take(below: number): Meeting[] {
    if (this.#minCost >= below) return [];
    const taken = [...this.#cheapest].filter(([, { cost }]) => cost < below);
    for (const [pair] of taken) this.#cheapest.delete(pair);
    this.#minCost = Math.min(...[...this.#cheapest.values()].map(({ cost }) => cost), Infinity);
    return taken.map(([, meeting]) => meeting).sort((a, b) => a.cost - b.cost);
  }
}

/** Lists the samples from one back to the part that reached it. */
function traced(sample: number, from: Int32Array): number[] {
  const samples = [];
  for (let at = sample; at >= 0; at = from[at]!) samples.push(at);
  return samples;
}

/** The steps to the 26 neighbors of a sample, and their lengths in cells. */
function neighborsIn([nx, ny]: ScalarGrid['size']): { step: number; length: number }[] {
  const around = [-1, 0, 1];
  return around.flatMap((k) =>
    around.flatMap((j) =>
      around.flatMap((i) =>
        i === 0 && j === 0 && k === 0 ? [] : [{ step: i + nx * (j + ny * k), length: Math.hypot(i, j, k) }],
      ),
    ),
  );
}

/** Returns the cost of a step of a path: the less probable and the narrower, the more. Infinite where no path may pass. */
function stepCosts({ values, size, scale }: SampledGrid, labels: Uint32Array, placeOf: PlaceOf) {
  const costs = new Float32Array(values.length).fill(NaN);
  const regions = new Float64Array(values.length);
  const look = (sample: number) => {
    const { region, behind, room } = placeOf(sample);
    regions[sample] = region;
    if (labels[sample] !== 0) return 0;
    if (isBorder(sample, size) || region < 0 || behind < -tolerance) return Infinity;
    const improbable = Math.min(Math.log1p(Math.exp(-scale.of(values[sample]!))), maxCost);
    return improbable + narrowCost * clamp(minRadius - room, 0, 3);
  };
  const costAt = (sample: number) => {
    if (Number.isNaN(costs[sample])) costs[sample] = look(sample);
    return costs[sample]!;
  };
  return (from: number, to: number): number => {
    const cost = (costAt(from) + costAt(to)) / 2;
    return regions[from] === regions[to] ? cost : Infinity;
  };
}

function isBorder(sample: number, [nx, ny, nz]: ScalarGrid['size']): boolean {
  const row = Math.floor(sample / nx);
  const [i, j, k] = [sample - row * nx, row % ny, Math.floor(row / ny)];
  return i === 0 || j === 0 || k === 0 || i === nx - 1 || j === ny - 1 || k === nz - 1;
}

/** The outline and the front of the object in a photo. Images have `outlineSize` pixels a side. */
interface Sight {
  readonly view: View;
  /** How far each pixel is inside the outline, in pixels; negative outside. */
  readonly inside: Float32Array;
  /** The number of the connected region of the outline to which each pixel or a neighbor of it belongs, or -1. */
  readonly regions: Int32Array;
  readonly front: DepthMap;
}

function sightOf({ cutout, camera }: Photographed, mesh: TriangleMesh): Sight {
  const matte = matteChannel(cutout, outlineSize);
  const view = photoView(camera, outlineSize);
  return {
    view,
    inside: signedDistance(matte, outlineSize),
    regions: regionsOf(matte),
    front: farthestAround(depthMap(mesh, view)),
  };
}

/** @param matte [outlineSize·outlineSize] of a frame with a margin on each side */
function regionsOf(matte: Float32Array): Int32Array {
  const around = [-outlineSize, 0, outlineSize].flatMap((row) => [row - 1, row, row + 1]);
  const sets = new DisjointSets(matte.length);
  const covered = new Int32Array(matte.length).fill(-1);
  for (let pixel = 0; pixel < matte.length; pixel++) {
    if (!(matte[pixel]! >= minCoverage)) continue;
    for (const step of around) {
      const neighbor = pixel + step;
      if (matte[neighbor]! >= minCoverage) sets.join(pixel, neighbor);
      covered[neighbor] = pixel;
    }
  }
  return covered.map((pixel) => (pixel < 0 ? -1 : sets.find(pixel)));
}

/**
 * Returns for each pixel the farthest depth that it or a neighbor shows, so that joints do not stand out of the edges of
 * near parts.
 */
function farthestAround({ width, height, depth }: DepthMap): DepthMap {
  const farthest = depth.map((own, pixel) => {
    if (own === Infinity) return own;
    let max = own;
    for (let row = pixel - width; row <= pixel + width; row += width) {
      for (let at = row - 1; at <= row + 1; at++)
        if ((depth[at] ?? Infinity) < Infinity) max = Math.max(max, depth[at]!);
    }
    return max;
  });
  return { width, height, depth: farthest };
}

/** Where a sample is with regard to what photos see. */
interface Place {
  /** The same number for samples in the same region of each outline, or -1 outside of any. */
  readonly region: number;
  /** How far the sample is behind each front, in cells. Infinite where no photo sees anything. */
  readonly behind: number;
  /** How far the sample is inside what no photo sees, in cells: within all outlines and behind all fronts. */
  readonly room: number;
}

type PlaceOf = (sample: number) => Place;

function placesIn({ size: [nx, ny], origin, cell }: ScalarGrid, sights: readonly Sight[]): PlaceOf {
  const point = new Float32Array(3);
  return (sample) => {
    const row = Math.floor(sample / nx);
    point[0] = origin[0] + cell * (sample - row * nx);
    point[1] = origin[1] + cell * (row % ny);
    point[2] = origin[2] + cell * Math.floor(row / ny);
    let [region, behind, inside] = [0, Infinity, Infinity];
    for (const sight of sights) {
      const { width, height, focalLength } = sight.view;
      const [x, y, depth] = projectPoints(sight.view, point) as unknown as [number, number, number];
      const pixel = width * clamp(Math.floor(y), 0, height - 1) + clamp(Math.floor(x), 0, width - 1);
      const own = sight.regions[pixel]!;
      region = own < 0 || region < 0 ? -1 : region * outlineSize ** 2 + own;
      const front = sight.front.depth[pixel]!;
      if (front < Infinity) behind = Math.min(behind, (depth - front) / cell);
      const distance = sampleBilinear(sight.inside, width, height, x - 0.5, y - 0.5);
      inside = Math.min(inside, (distance * depth) / (focalLength * cell));
    }
    return { region, behind, room: Math.min(inside, behind) };
  };
}

/**
 * Makes a path as thick as `radius`, in cells, but nowhere thicker than there is room.
 *
 * @param values of the grid, which are raised
 */
function addJoint(
  values: Float32Array,
  [nx, ny, nz]: ScalarGrid['size'],
  path: readonly number[],
  radius: number,
  placeOf: PlaceOf,
  densityAt: (cells: number) => number,
): void {
  const raise = (sample: number, value: number) => {
    if (value > values[sample]!) values[sample] = value;
  };
  const depths = new Map<number, number>();
  const reach = Math.ceil(radius);
  for (const sample of path) {
    const [i, j, k] = [sample % nx, Math.floor(sample / nx) % ny, Math.floor(sample / (nx * ny))];
    // The border of the grid stays outside.
    for (let z = Math.max(k - reach, 1); z <= Math.min(k + reach, nz - 2); z++) {
      for (let y = Math.max(j - reach, 1); y <= Math.min(j + reach, ny - 2); y++) {
        for (let x = Math.max(i - reach, 1); x <= Math.min(i + reach, nx - 2); x++) {
          const near = x + nx * (y + ny * z);
          const depth = radius - Math.hypot(x - i, y - j, z - k);
          if (depth > (depths.get(near) ?? -1)) depths.set(near, depth);
        }
      }
    }
  }
  for (const [sample, depth] of depths) {
    const core = depth - radius + coreRadius;
    raise(sample, densityAt(Math.max(core, Math.min(depth, placeOf(sample).room))));
  }
}
