import { beforeAll, describe, expect, test } from 'vitest';
import { boxAround } from '../base/box.js';
import type { Camera } from '../base/camera.js';
import type { Cutout } from '../base/image.js';
import type { TriangleMesh } from '../base/mesh.js';
import { carve } from '../field/carve.js';
import type { CameralessField, DensityField } from '../field/density-field.js';
import { sampleGrid } from '../field/sample-grid.js';
import { fieldOf } from '../field/test-fields.fixture.js';
import { paintCutout } from '../photo/cutout.fixture.js';
import { depthMap, rasterize } from '../render/rasterize.js';
import { photoView, projectPoints } from '../render/view.js';
import { marchingCubes } from '../surface/marching-cubes.js';
import { vertexNormals } from '../surface/normals.js';
import { tilt } from '../surface/pose.js';
import { ball, block, torus, union } from '../surface/shapes.fixture.js';
import { PhotoProjection, projectedPoints } from '../texture/photo-projection.js';
import { fitCamera } from './fit-camera.js';

type Density = (x: number, y: number, z: number) => number;

const degree = Math.PI / 180;

/** TripoSR's camera, box, threshold and foreground ratio. */
const published: Camera = { distance: 1.9, halfTangent: Math.tan(20 * degree) };
const halfExtent = 0.87;
const threshold = 25;
const foregroundRatio = 0.85;

const turned = (yaw: number, shape: Density): Density => {
  const [sin, cos] = [Math.sin(yaw * degree), Math.cos(yaw * degree)];
  return (x, y, z) => shape(cos * x - sin * z, y, cos * z + sin * x);
};
const leaning =
  (angle: number, shape: Density): Density =>
  (x, y, z) => {
    const [a, b, c] = tilt(Float32Array.of(x, y, z), angle);
    return shape(a!, b!, c!);
  };
/** A solid of revolution around Y, from -height to height. */
const solid =
  (height: number, radius: (y: number) => number): Density =>
  (x, y, z) =>
    Math.min(height - Math.abs(y), radius(y) - Math.hypot(x, z));
const corners = (x: number, z: number) => [-x, x].flatMap((a) => [-z, z].map((b) => [a, b] as const));
const legs = (x: number, z: number, top: number, bottom: number) =>
  corners(x, z).map(([a, b]) => block([a, (top + bottom) / 2, b], [0.05, (top - bottom) / 2, 0.05]));
const wheel = ([x, z]: readonly [number, number]): Density => {
  return (a, b, c) => Math.min(0.12 - Math.hypot(a - x, b + 0.2), 0.05 - Math.abs(c - z));
};
const hollow = (x: number, y: number, z: number) =>
  Math.min(solid(0.32, () => 0.3)(x, y, z), -solid(0.32, () => 0.24)(x, y - 0.1, z));

const objects: Record<string, Density> = {
  ball: ball(0.5),
  can: solid(0.45, () => 0.25),
  bottle: solid(0.5, (y) => Math.min(Math.max(0.07, 0.33 - 1.3 * y), 0.2)),
  ring: turned(40, torus(0.38, 0.09)),
  chair: turned(
    -25,
    union(
      block([0, -0.05, 0], [0.27, 0.05, 0.27]),
      block([0, 0.22, -0.23], [0.27, 0.28, 0.04]),
      ...legs(0.22, 0.22, 0, -0.5),
    ),
  ),
  mug: union(hollow, (x, y, z) => torus(0.2, 0.05)(x - 0.3, y, z)),
  car: turned(
    35,
    union(
      block([0, -0.08, 0], [0.5, 0.12, 0.22]),
      block([-0.08, 0.1, 0], [0.28, 0.12, 0.2]),
      ...corners(0.3, 0.2).map(wheel),
    ),
  ),
};

const colorAt = (position: number): number => 0.5 + (0.5 * position) / halfExtent;

/** What a perfect network of TripoSR's kind would make of the object: densities to thousands, colored by position. */
async function fieldOfObject(object: Density): Promise<CameralessField> {
  const sized = (scale: number): CameralessField => {
    const density: Density = (x, y, z) => threshold * Math.exp(20 * scale * object(x / scale, y / scale, z / scale));
    const { camera: _, ...field } = fieldOf(density, threshold);
    const [min, max] = [-halfExtent, halfExtent];
    return {
      ...field,
      bounds: { min: [min, min, min], max: [max, max, max] },
      evaluateColors: async (points, colors) => colors.set(points.map(colorAt)),
    };
  };
  // A level photo of an object of this size fills the frame.
  const { positions } = await meshOf(sized(1), 64);
  let scale = 1;
  for (let round = 0; round < 8; round++) {
    const { min, max } = boxAround(
      projectPoints(
        photoView(published, 2),
        positions.map((value) => scale * value),
      ),
    );
    scale *= (2 * foregroundRatio) / Math.max(max[0] - min[0], max[1] - min[1]);
  }
  return sized(scale);
}

const meshOf = async (field: CameralessField, resolution = 112): Promise<TriangleMesh> =>
  marchingCubes(await sampleGrid(field, resolution), field.threshold);

/** A photo of the object from above, with the lens that the network assumes, framed for it. */
function photographed({ positions, indices }: TriangleMesh, pitch: number): Cutout {
  const size = 512;
  let camera = published;
  let seen = tilt(positions, -pitch);
  for (let round = 0; round < 16; round++) {
    const { min, max } = boxAround(projectPoints(photoView(camera, 2), seen));
    const halfWidth = camera.distance * camera.halfTangent;
    const middle = [((min[0] + max[0]) / 2 - 1) * halfWidth, (1 - (min[1] + max[1]) / 2) * halfWidth, 0];
    seen = seen.map((value, i) => value - middle[i % 3]!);
    const filled = Math.max(max[0] - min[0], max[1] - min[1]) / 2;
    camera = { ...camera, distance: (camera.distance * filled) / foregroundRatio };
  }
  const { triangle, barycentrics } = rasterize({ positions: seen, indices }, photoView(camera, size));
  return paintCutout(size, (u, v) => {
    const pixel = Math.floor(((v + 1) / 2) * size) * size + Math.floor(((u + 1) / 2) * size);
    const first = 3 * triangle[pixel]!;
    if (first < 0) return [0, 0, 0, 0];
    const [b, c] = [barycentrics[2 * pixel]!, barycentrics[2 * pixel + 1]!];
    const along = (corner: number, axis: number) => positions[3 * indices[first + corner]! + axis]!;
    const color = (axis: number) =>
      255 * colorAt((1 - b - c) * along(0, axis) + b * along(1, axis) + c * along(2, axis));
    return [color(0), color(1), color(2), 255];
  });
}

function volumeOf({ positions, indices }: TriangleMesh): number {
  let sum = 0;
  for (let i = 0; i < indices.length; i += 3) {
    const [a, b, c] = [3 * indices[i]!, 3 * indices[i + 1]!, 3 * indices[i + 2]!];
    const [bx, by, bz] = [positions[b]!, positions[b + 1]!, positions[b + 2]!];
    const [cx, cy, cz] = [positions[c]!, positions[c + 1]!, positions[c + 2]!];
    sum += positions[a]! * (by * cz - bz * cy);
    sum += positions[a + 1]! * (bz * cx - bx * cz) + positions[a + 2]! * (bx * cy - by * cx);
  }
  return sum / 6;
}

/** How far the colors that the photo projects onto the surface are from the object's, in 255ths. */
async function colorError(field: DensityField, mesh: TriangleMesh, { image }: Cutout): Promise<number> {
  const { positions } = mesh;
  const normals = vertexNormals(mesh);
  const colors = new Float32Array(positions.length);
  await field.evaluateColors!(positions, colors);
  const projection = new PhotoProjection(field.camera, depthMap(mesh, photoView(field.camera, 512)), 0.02);
  const count = positions.length / 3;
  const projected = projectedPoints(count);
  projection.project(new Float64Array(positions), new Float64Array(normals), count, projected);
  const { x, y, seen } = projected;
  let [sum, total] = [0, 0];
  for (let i = 0; i < count; i++) {
    const pixel = 4 * (Math.floor(y[i]! * image.height) * image.width + Math.floor(x[i]! * image.width));
    if (seen[i] === 0 || image.data[pixel + 3] !== 255) continue;
    for (let c = 0; c < 3; c++) sum += seen[i]! * Math.abs(image.data[pixel + c]! - 255 * colors[3 * i + c]!);
    total += 3 * seen[i]!;
  }
  return sum / total;
}

/** The largest figures of these tests were 0.9 % and 1.6 in November 2026. */
const limits = { volume: 0.01, color: 3 };

describe.each(Object.keys(objects))('a network that knows the %s exactly', (name) => {
  let field: CameralessField;
  let object: TriangleMesh;
  beforeAll(async () => {
    field = await fieldOfObject(objects[name]!);
    object = await meshOf(field);
  });

  test.each([0, 45])('keeps its volume and its colors in a photo from %i degrees above', async (pitch) => {
    const cutout = photographed(object, pitch * degree);
    const fitted = await fitCamera(field, cutout, { published, upright: false, anyYaw: false });
    expect(fitted.overlap).toBeGreaterThan(0.95);
    const carved = await carve(fitted, cutout);
    const mesh = await meshOf(carved);
    expect(1 - volumeOf(mesh) / volumeOf(object)).toBeLessThan(limits.volume);
    expect(await colorError(carved, mesh, cutout)).toBeLessThan(limits.color);
  });
});

test.each(['chair', 'can'])('a %s that leans as the photo shows it is not taken for upright', async (name) => {
  const field = await fieldOfObject(leaning(30 * degree, objects[name]!));
  const cutout = photographed(await meshOf(field), 0);
  const fitted = await fitCamera(field, cutout, { published, upright: false, anyYaw: false });
  expect(fitted.overlap).toBeGreaterThan(0.95);
  // Unknown, so the engine looks for the base.
  expect(fitted.elevation).toBeUndefined();
});

test('a network that stands upright says how far the camera looked down, also from level', async () => {
  const field = await fieldOfObject(objects.ball!);
  const cutout = photographed(await meshOf(field), 0);
  const { camera, elevation } = await fitCamera(field, cutout, { published, upright: true, anyYaw: false });
  expect(camera).toBe(published);
  expect(elevation).toEqual({ radians: 0, spreadRadians: 0 });
});
