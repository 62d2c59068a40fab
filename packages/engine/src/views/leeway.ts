import { type FusedDensity, type FusedView, fusedDensity } from './fuse.js';
import { correctionAt, correctionSize } from './give-way.js';
import { centerOf, mapSize, newSample, sampleMap, sampleOutline } from './map.js';
import { pointOnRay, reliefDepth } from './view-camera.js';

// The front of a model must not be worse than with one photo. Where cameras are off, or networks disagree, the other
// photos carve away what the front photo shows, above all thin parts such as legs and handles. Every ray inside the
// front photo's outline must hit the object. Where it misses the fused shape, the other photos give way near the
// predicted front: their outlines and fronts by a distance, and their guesses by weight. As long as rays miss, they
// give way more. Where a tenth of the size is not enough, the front itself is wrong, and the other photos decide.

/** Rays this far inside the outline must hit, in units of the frame. The edge itself is rounded. */
const minInset = 0.001;
/** Depths at which a ray is tried, from a little before the predicted front to the far side, in units of space. */
const depthStep = 0.012;
const [firstStep, lastStep] = [-8, 60];
/** A ray hits if it is inside at this many depths in a row: less is too thin for the grid. */
const minRun = 3;
/** The first leeway, in units of space, the factor by which it grows, and the number of rounds. */
const [firstLeeway, growth, rounds] = [0.012, 2, 4];
/** Rays up to this many pixels away get leeway, too, less with distance, so that a part stays in one piece. */
const around = 3;

/**
 * Returns how far the other views give way: [correctionSize²] in the front's frame, in units of space.
 *
 * @param views the front first
 */
export function leewayOf(views: readonly FusedView[]): Float32Array {
  const leeway = new Float32Array(correctionSize * correctionSize);
  const density = fusedDensity(views, leeway);
  let missed = raysOf(views[0]!);
  for (let round = 0; round < rounds && missed.length > 0; round++) {
    missed = missed.filter((ray) => !hits(ray, views[0]!, density));
    const raised = missed.map(({ pixel }) => Math.max(firstLeeway, growth * leeway[pixel]!));
    for (const [i, { pixel }] of missed.entries()) raiseAround(leeway, pixel, raised[i]!);
  }
  return leeway;
}

/** A ray of the front photo, and the depth of the front there. */
interface Ray {
  readonly pixel: number;
  readonly u: number;
  readonly v: number;
  readonly depth: number;
}

function raysOf({ view, camera, correction }: FusedView): Ray[] {
  const sample = newSample();
  const rays: Ray[] = [];
  for (let pixel = 0; pixel < correction.length; pixel++) {
    const u = centerOf(pixel % correctionSize, correctionSize);
    const v = centerOf(Math.floor(pixel / correctionSize), correctionSize);
    sampleOutline(view.outline, mapSize, u, v, sample);
    if (sample.value < minInset) continue;
    sampleMap(view.front, mapSize, u, v, sample);
    rays.push({ pixel, u, v, depth: reliefDepth(camera, sample.value, u, v) + correctionAt(correction, u, v) });
  }
  return rays;
}

const point = new Float64Array(3);

function hits({ u, v, depth }: Ray, { camera }: FusedView, density: FusedDensity): boolean {
  let run = 0;
  for (let step = firstStep; step <= lastStep && run < minRun; step++) {
    pointOnRay(camera, u, v, depth - (step + 0.5) * depthStep, point);
    run = density(point[0]!, point[1]!, point[2]!) > 0 ? run + 1 : 0;
  }
  return run === minRun;
}

function raiseAround(leeway: Float32Array, pixel: number, value: number): void {
  const [column, row] = [pixel % correctionSize, Math.floor(pixel / correctionSize)];
  for (let y = Math.max(0, row - around); y <= Math.min(correctionSize - 1, row + around); y++) {
    for (let x = Math.max(0, column - around); x <= Math.min(correctionSize - 1, column + around); x++) {
      const at = y * correctionSize + x;
      leeway[at] = Math.max(leeway[at]!, value * (1 - Math.hypot(x - column, y - row) / (around + 1)));
    }
  }
}
