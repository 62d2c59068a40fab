import { describe, expect, test } from 'vitest';
import { distanceInside } from '../base/convex-hull.js';
import { columnsField, predictionOf } from './columns.js';
import type { ColumnsManifest } from './columns-prediction.js';
import { axesAt, type Cuboid, densityOf, outlineOf } from './solids/cuboid/cuboid.js';

const fieldOf = (...of: Parameters<typeof predictionOf>) => columnsField(predictionOf(...of));

const size = 64;
const [steps, halfWidth, halfDepth] = [64, 0.6, 1.2];
const columns = {
  input: { size },
  decoder: { kind: 'columns', steps, halfWidth, halfDepth },
  threshold: 0,
  camera: { fovDegrees: 35, distance: 3.5 },
} as ColumnsManifest;

/** A disc of 0.5 of the frame. */
const slabMatte = (n: number) =>
  Float32Array.from({ length: n * n }, (_, i) => {
    const [u, v] = [((i % n) + 0.5) / n - 0.5, (Math.floor(i / n) + 0.5) / n - 0.5];
    return Math.hypot(u, v) < 0.25 ? 1 : 0;
  });

/** An object with the logits of its steps, and its front at depth 0, both of which may differ by column. */
const objectOf = (
  logitOf: (step: number) => number,
  { frontDepth = new Float32Array(size * size), matte = slabMatte(size), fine = slabMatte(256) } = {},
) => {
  const occupancy = Float32Array.from({ length: steps * size * size }, (_, i) =>
    logitOf(Math.floor(i / (size * size))),
  );
  return fieldOf(columns, matte, fine, { frontDepth, occupancy, elevation: undefined });
};

/** The disc of the given thickness in steps. */
const slab = (thickSteps: number) => objectOf((step) => (step < thickSteps ? 5 : -5));

async function densityAt(field: ReturnType<typeof slab>, ...point: [number, number, number]): Promise<number> {
  const density = new Float32Array(1);
  await field.evaluate(Float32Array.from(point), density);
  return density[0]!;
}

/** Depth of one step of the occupancy, in the camera's units. */
const step = (2 / steps) * halfWidth * halfDepth;

describe('a columns field', () => {
  test('is empty in front of the front, solid behind it, and empty behind the last occupied step', async () => {
    const field = slab(20);
    expect(await densityAt(field, 0, 0, 2 * step)).toBeLessThan(0);
    expect(await densityAt(field, 0, 0, -2 * step)).toBeGreaterThan(0);
    expect(await densityAt(field, 0, 0, -17 * step)).toBeGreaterThan(0);
    expect(await densityAt(field, 0, 0, -23 * step)).toBeLessThan(0);
  });

  test('is empty outside the matte, whatever the network predicts', async () => {
    const field = slab(steps);
    expect(await densityAt(field, 0.45 * halfWidth, 0, -5 * step)).toBeGreaterThan(0);
    expect(await densityAt(field, 0.55 * halfWidth, 0, -5 * step)).toBeLessThan(0);
    expect(await densityAt(field, 0, 0.55 * halfWidth, -5 * step)).toBeLessThan(0);
  });

  test('has a minimum thickness even where the network is uncertain', async () => {
    expect(await densityAt(slab(0), 0, 0, -1.4 * step)).toBeGreaterThan(0);
  });

  test('keeps the outline where the network is uncertain', async () => {
    const [rim, pixel] = [0.5 * halfWidth, (2 / size) * halfWidth];
    const uncertain = slab(0);
    const toCenter = 1 + (1.4 * step) / columns.camera.distance;
    expect(await densityAt(uncertain, (rim - 0.15 * pixel) * toCenter, 0, -1.4 * step)).toBeGreaterThan(0);
    expect(await densityAt(uncertain, (rim + 0.15 * pixel) * toCenter, 0, -1.4 * step)).toBeLessThan(0);
  });

  test('has no threads between two parts where the depth of a column is in between', async () => {
    const [near, between, far] = [0, 0.4, 0.8];
    const frontDepth = Float32Array.from({ length: size * size }, (_, i) => {
      const column = i % size;
      return column < size / 2 ? near : column === size / 2 ? between : far;
    });
    const field = objectOf(() => -5, { frontDepth });
    const at = (column: number, depth: number) => {
      const z = -depth * halfWidth * halfDepth - 0.7 * step;
      const scale = ((columns.camera.distance - z) * halfWidth) / columns.camera.distance;
      return densityAt(field, (((column + 0.5) * 2) / size - 1) * scale, 0, z);
    };
    expect(await at(size / 2 - 3, near)).toBeGreaterThan(0);
    expect(await at(size / 2 + 3, far)).toBeGreaterThan(0);
    for (let depth = 0.1; depth < 0.75; depth += 0.05) {
      for (let column = size / 2 - 2; column <= size / 2 + 2; column += 0.25) {
        expect(await at(column, depth)).toBeLessThan(0);
      }
    }
  });

  test('is as thick as the network expects, even if every single step is more likely empty', async () => {
    const [certain, uncertain] = [3, -0.4];
    const logits = Array.from({ length: steps }, (_, k) => (k < 2 ? certain : uncertain - 0.1 * k));
    const expected = logits.reduce((sum, logit) => sum + 1 / (1 + Math.exp(-logit)), 0);
    expect(expected).toBeGreaterThan(6);
    const field = objectOf((step) => logits[step]!);
    expect(await densityAt(field, 0, 0, -(expected - 1.5) * step)).toBeGreaterThan(0);
    expect(await densityAt(field, 0, 0, -(expected + 1.5) * step)).toBeLessThan(0);
  });

  test('may have fewer columns than the image has pixels, and colors for the far side', async () => {
    const across = size / 2;
    const coarse = { ...columns, decoder: { ...columns.decoder, size: across, color: 'back' } };
    const disc = slabMatte(across);
    const field = fieldOf(coarse, disc, slabMatte(256), {
      frontDepth: new Float32Array(across * across),
      occupancy: new Float32Array(steps * across * across).fill(5),
      backColor: Float32Array.from({ length: 3 * across * across }, (_, i) => (i < across * across ? 1 : 0.25)),
      elevation: undefined,
    });
    expect(await densityAt(field, 0, 0, -2 * step)).toBeGreaterThan(0);
    expect(await densityAt(field, 0.55 * halfWidth, 0, -2 * step)).toBeLessThan(0);
    const colors = new Float32Array(3);
    await field.evaluateColors!(Float32Array.of(0.1 * halfWidth, 0, -9 * step), colors);
    expect(colors).toEqual(Float32Array.of(1, 0.25, 0.25));
  });

  test('is wider than the matte along a wire that the grid would otherwise miss', async () => {
    const fine = slabMatte(256).map((coverage, i) => (i % 256 === 128 && i > 30 * 256 && i < 128 * 256 ? 1 : coverage));
    const field = objectOf(() => -5, { fine });
    const [pixel, depth] = [(2 / 256) * halfWidth, -0.7 * step];
    const besideWire = (pixels: number) => densityAt(field, (0.5 + pixels) * pixel, 0.65 * halfWidth, depth);
    expect(await besideWire(0.9)).toBeGreaterThan(0);
    expect(await besideWire(2)).toBeLessThan(0);
  });

  test('has bounds for an object that is thinner than a column', () => {
    const wire = Float32Array.from({ length: size * size }, (_, i) => (i % size === size / 2 ? 0.1 : 0));
    const { bounds } = objectOf(() => -5, { matte: wire });
    expect(bounds.min[2]).toBeLessThan(-1.5 * step);
    expect(bounds.max[2]).toBeGreaterThan(0);
  });

  test('has bounds that contain everything occupied', async () => {
    const field = slab(20);
    expect(field.bounds.max[2]).toBeGreaterThan(0);
    expect(field.bounds.min[2]).toBeLessThan(-20 * step);
    expect(field.bounds.max[0]).toBeGreaterThan(0.5 * halfWidth);
  });

  test('completes a box in the space of the camera that its edges show, and colors it from there', async () => {
    const near = { distance: columns.camera.distance / 1.5, halfTangent: (1.5 * halfWidth) / columns.camera.distance };
    const cuboid: Cuboid = { camera: near, center: [0, 0, 0], axes: axesAt(0.6, 0.4, 0), half: [0.22, 0.28, 0.2] };
    const edges = outlineOf(cuboid);
    const map = (n: number, valueAt: (u: number, v: number) => number) =>
      Float32Array.from({ length: n * n }, (_, i) =>
        valueAt(((i % n) + 0.5) / (n / 2) - 1, (Math.floor(i / n) + 0.5) / (n / 2) - 1),
      );
    const matte = (n: number) => map(n, (u, v) => (distanceInside(edges, u, v) > 0 ? 1 : 0));
    const frontDepth = map(size, (u, v) => {
      for (let z = 0.5; z > -0.5; z -= 0.01) {
        const scale = (near.distance - z) * near.halfTangent;
        if (densityOf(cuboid, 0, u * scale, -v * scale, z) > 0) return -z / (halfWidth * halfDepth);
      }
      return 0;
    });
    const occupancy = new Float32Array(steps * size * size).fill(-5).fill(5, 0, 10 * size * size);
    const acrossFrame = map(size, (u) => (u + 1) / 2);
    const colored = { ...columns, decoder: { ...columns.decoder, color: 'back' } };
    const field = fieldOf(colored, matte(size), matte(256), {
      frontDepth,
      occupancy,
      backColor: Float32Array.from({ length: 3 * size * size }, (_, i) => acrossFrame[i % (size * size)]!),
      elevation: 0.4,
    });
    expect(field.camera.halfTangent).toBeGreaterThan((1.25 * halfWidth) / columns.camera.distance);
    const backCorner = [-1, -1, -1].map((side, axis) => 0.85 * side * cuboid.half[axis]!);
    const inside = [0, 1, 2].map((c) =>
      backCorner.reduce((sum, value, axis) => sum + value * cuboid.axes[axis]![c]!, 0),
    );
    expect(await densityAt(field, inside[0]!, inside[1]!, inside[2]!)).toBeGreaterThan(0);
    const colors = new Float32Array(3);
    const { distance, halfTangent } = field.camera;
    await field.evaluateColors!(Float32Array.of(0.25 * 1.5 * distance * halfTangent, 0, -0.5 * distance), colors);
    expect(colors[0]).toBeCloseTo((0.25 + 1) / 2, 2);
  });
});
