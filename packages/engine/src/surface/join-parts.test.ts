import { describe, expect, test } from 'vitest';
import type { Cutout } from '../base/image.js';
import { type SampledGrid, sampleGrid } from '../field/sample-grid.js';
import { fieldOf } from '../field/test-fields.fixture.js';
import { paintCutout } from '../photo/cutout.fixture.js';
import { depthMap } from '../render/rasterize.js';
import { photoView } from '../render/view.js';
import { clean, connectedParts } from './clean.js';
import { joinParts } from './join-parts.js';
import { marchingCubes } from './marching-cubes.js';
import { ball, block, union } from './shapes.fixture.js';
import { enclosedVolume } from './topology.fixture.js';
import { nonManifoldVertices } from './topology.js';

type Density = (x: number, y: number, z: number) => number;

/** Half the width of the frame at the origin, where `fieldOf` has its camera look. */
const frameHalf = 0.6;

/** A cutout whose outline contains the positions for which a function is true, in units of camera space at z = 0. */
const outlined = (isInside: (x: number, y: number) => boolean): Cutout =>
  paintCutout(256, (u, v) => [0, 0, 0, isInside(frameHalf * u, -frameHalf * v) ? 255 : 0]);

const surfaceOf = (grid: SampledGrid) => clean(marchingCubes(grid, 0));

async function join(density: Density, cutout: Cutout) {
  const field = fieldOf(density);
  const grid = await sampleGrid(field, 48);
  const before = surfaceOf(grid);
  const joined = joinParts(grid, before, 0, [{ cutout, camera: field.camera }]);
  const after = joined && surfaceOf(joined);
  return { before, after, camera: field.camera, cell: grid.cell };
}

const twoBalls = union(ball(0.15, -0.25), ball(0.15, 0.25));

describe('parts of an object', () => {
  test('within one outline become one closed solid', async () => {
    const { before, after } = await join(
      twoBalls,
      outlined((x, y) => Math.abs(x) < 0.45 && Math.abs(y) < 0.2),
    );
    expect(connectedParts(before).count).toBe(2);
    expect(connectedParts(after!).count).toBe(1);
    expect(nonManifoldVertices(after!)).toHaveLength(0);
  });

  test('in two outlines stay two, and those within each are joined', async () => {
    const apart = outlined((x, y) => Math.abs(Math.abs(x) - 0.25) < 0.2 && Math.abs(y) < 0.45);
    expect((await join(twoBalls, apart)).after).toBeUndefined();
    const fourBalls = union(...[-0.3, 0.3].flatMap((y) => [ball(0.12, -0.25, y), ball(0.12, 0.25, y)]));
    const { before, after } = await join(fourBalls, apart);
    expect(connectedParts(before).count).toBe(4);
    expect(connectedParts(after!).count).toBe(2);
  });

  test('that are one already are not changed', async () => {
    const { after } = await join(
      ball(0.3),
      outlined(() => true),
    );
    expect(after).toBeUndefined();
  });

  test('are joined without their islands', async () => {
    const rods: Density = (x, y, z) => Math.min(0.1 - Math.hypot(Math.abs(x) - 0.25, z), 0.45 - Math.abs(y));
    const everywhere = outlined(() => true);
    const { before, after } = await join(union(rods, ball(0.03, 0, 0.2, 0.2)), everywhere);
    expect(connectedParts(before).count).toBe(2);
    expect(connectedParts(after!).count).toBe(1);
    expect(enclosedVolume(after!)).toBeCloseTo(enclosedVolume((await join(rods, everywhere)).after!), 5);
  });

  test('are joined where the field is likeliest to be inside', async () => {
    const everywhere = outlined(() => true);
    const steep: Density = (x, y, z) => Math.max(100 * twoBalls(x, y, z), -6);
    const direct = await join(steep, everywhere);
    expect(highest(direct.after!.positions)).toBeLessThan(0.16);
    const arc: Density = (x, y, z) => (y < 0 ? -6 : -0.4 - 15 * Math.hypot(Math.hypot(x, y) - 0.25, z));
    const { after } = await join(union(steep, arc), everywhere);
    expect(highest(after!.positions)).toBeGreaterThan(0.24);
  });

  test('are joined behind what the photo shows, and within its outline', async () => {
    // The likeliest way between the balls is in front of the plate, above which they float.
    const plate = block([0, 0, -0.2], [0.45, 0.3, 0.04]);
    const solid = union(plate, ball(0.12, -0.25, 0, 0.2), ball(0.12, 0.25, 0, 0.2));
    const steep: Density = (x, y, z) => Math.max(60 * solid(x, y, z), -6);
    const between: Density = (x, y, z) => -0.1 - 60 * Math.hypot(Math.max(Math.abs(x) - 0.25, 0), y, z - 0.2);
    const outline = outlined((x, y) => Math.abs(x) < 0.45 && Math.abs(y) < 0.3);
    const { before, after, camera, cell } = await join(union(steep, between), outline);
    expect(connectedParts(before).count).toBe(3);
    expect(connectedParts(after!).count).toBe(1);
    const size = 96;
    const view = photoView(camera, size);
    const [front, joined] = [depthMap(before, view).depth, depthMap(after!, view).depth];
    for (let pixel = 2 * size; pixel < front.length - 2 * size; pixel++) {
      // Edges may move by a cell, which is two pixels.
      const nearest = Math.min(
        ...[-2, -1, 0, 1, 2].flatMap((y) => [-2, -1, 0, 1, 2].map((x) => front[pixel + x + size * y]!)),
      );
      if (nearest < Infinity) expect(nearest - joined[pixel]!).toBeLessThan(cell);
      else expect(joined[pixel]).toBe(Infinity);
    }
  });

  test('have joints about as thick as the thinner one', async () => {
    const rod = (radius: number): Density =>
      union(block([0, 0.35, 0], [0.3, 0.1, 0.3]), (x, y, z) =>
        Math.min(radius - Math.hypot(x, z), 0.2 - Math.abs(y + 0.2)),
      );
    for (const radius of [0.05, 0.1]) {
      const { before, after } = await join(
        rod(radius),
        outlined(() => true),
      );
      expect(connectedParts(before).count).toBe(2);
      const added = enclosedVolume(after!) - enclosedVolume(before);
      const gap = 0.25;
      expect(added / (Math.PI * radius ** 2 * gap)).toBeGreaterThan(0.5);
      expect(added / (Math.PI * radius ** 2 * gap)).toBeLessThan(1.6);
    }
  });
});

const highest = (positions: Float32Array) =>
  positions.reduce((max, y, i) => (i % 3 === 1 ? Math.max(max, y) : max), -1);
