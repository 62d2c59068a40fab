import { describe, expect, test } from 'vitest';
import { rasterize, visibleShare } from './rasterize.js';
import { box, sphere } from './shapes.fixture.js';
import { orbitView, photoView, projectPoints } from './view.js';

const camera = { distance: 3, halfTangent: Math.tan(0.3) };
const fullTriangle = (z: number) => [-9, -9, z, 9, -9, z, 0, 18, z];
const mesh = (positions: number[], indices: number[]) => ({
  positions: Float32Array.from(positions),
  indices: Uint32Array.from(indices),
});

describe('the photo view', () => {
  test('projects points as the pinhole camera does', () => {
    const [x, y, depth] = projectPoints(photoView(camera, 200), Float32Array.of(0.3, -0.2, 0.5));
    const scale = 1 / ((camera.distance - 0.5) * camera.halfTangent);
    expect(x).toBeCloseTo(100 * (1 + 0.3 * scale), 4);
    expect(y).toBeCloseTo(100 * (1 + 0.2 * scale), 4);
    expect(depth).toBeCloseTo(camera.distance - 0.5, 6);
  });
});

describe('the orbit view', () => {
  const options = { width: 200, height: 150, yawRadians: 0.7, pitchRadians: 0.4, fovRadians: 0.5, margin: 0.1 };

  test.each([0, 0.7, Math.PI, -2])('at yaw %f fills the image up to its margin, centered', (yawRadians) => {
    const { positions } = box(0.4);
    const projected = projectPoints(orbitView(positions, { ...options, yawRadians }), positions);
    const bounds = (axis: 0 | 1) => {
      const values = [...projected].filter((_, i) => i % 3 === axis);
      return { low: Math.min(...values), high: Math.max(...values) };
    };
    expect(bounds(0).low + bounds(0).high).toBeCloseTo(200, 2);
    expect(bounds(1).low + bounds(1).high).toBeCloseTo(150, 2);
    const filled = Math.max((bounds(0).high - bounds(0).low) / 160, (bounds(1).high - bounds(1).low) / 120);
    expect(filled).toBeGreaterThan(0.999);
    expect(filled).toBeLessThan(1.001);
  });

  test('at yaw 0 has +X on the right and +Y up; a quarter turn looks at +X', () => {
    const { positions } = box(0.5);
    const points = Float32Array.of(0.1, 0.5, 0, 0, 0.6, 0, 0, 0.5, 0.1, 0, 0.5, 0);
    const front = projectPoints(orbitView(positions, { ...options, yawRadians: 0, pitchRadians: 0 }), points);
    expect(front[0]).toBeGreaterThan(front[9]!);
    expect(front[4]).toBeLessThan(front[10]!);
    expect(front[8]).toBeLessThan(front[11]!);
    const side = projectPoints(orbitView(positions, { ...options, yawRadians: Math.PI / 2, pitchRadians: 0 }), points);
    expect(side[2]).toBeLessThan(side[11]!);
  });
});

describe('the rasterizer', () => {
  test('a sphere covers the area of its silhouette within 1 %', () => {
    const ball = sphere(0.5, 64);
    const centered = { ...ball, positions: ball.positions.map((value, i) => (i % 3 === 1 ? value - 0.5 : value)) };
    const size = 300;
    const raster = rasterize(centered, photoView(camera, size));
    const covered = raster.triangle.filter((triangle) => triangle >= 0).length;
    // The cone that touches a sphere of radius r from distance d meets the image at tan(asin(r / d)).
    const radius = ((size / 2) * Math.tan(Math.asin(0.5 / camera.distance))) / camera.halfTangent;
    expect(Math.abs(covered / (Math.PI * radius ** 2) - 1)).toBeLessThan(0.01);
  });

  test('a closed surface has no cracks: each row of a sphere is one run of pixels', () => {
    const ball = sphere(0.5, 40);
    const view = orbitView(ball.positions, {
      width: 257,
      height: 257,
      yawRadians: 0.31,
      pitchRadians: 0.2,
      fovRadians: 0.5,
      margin: 0.05,
    });
    const { triangle } = rasterize(ball, view);
    for (let row = 0; row < 257; row++) {
      const cells = [...triangle.subarray(257 * row, 257 * (row + 1))].map((id) => (id >= 0 ? '#' : '.')).join('');
      expect(cells).toMatch(/^\.*#*\.*$/);
    }
  });

  test('the nearer triangle wins, whatever the order', () => {
    const both = [...fullTriangle(0), ...fullTriangle(1)];
    for (const indices of [
      [0, 1, 2, 3, 4, 5],
      [3, 4, 5, 0, 1, 2],
    ]) {
      const raster = rasterize(mesh(both, indices), photoView(camera, 9));
      expect(new Set(raster.triangle)).toEqual(new Set([indices[0] === 0 ? 1 : 0]));
      expect(raster.depth[40]).toBeCloseTo(2, 6);
    }
  });

  test('barycentrics are perspective-correct: they reproduce the point that projects onto the pixel', () => {
    const slanted = mesh([-1, -0.6, 1.5, 1, -0.8, -2, 0.1, 0.9, 0.4], [0, 1, 2]);
    const view = photoView(camera, 64);
    const { triangle, depth, barycentrics } = rasterize(slanted, view);
    let checked = 0;
    for (let pixel = 0; pixel < triangle.length; pixel++) {
      if (triangle[pixel]! < 0) continue;
      const [b, c] = [barycentrics[2 * pixel]!, barycentrics[2 * pixel + 1]!];
      const point = [0, 1, 2].map(
        (axis) =>
          (1 - b - c) * slanted.positions[axis]! + b * slanted.positions[3 + axis]! + c * slanted.positions[6 + axis]!,
      );
      const [x, y, distance] = projectPoints(view, Float32Array.from(point));
      expect(Math.abs(x! - ((pixel % 64) + 0.5))).toBeLessThan(0.01);
      expect(Math.abs(y! - (Math.floor(pixel / 64) + 0.5))).toBeLessThan(0.01);
      expect(Math.abs(distance! - depth[pixel]!)).toBeLessThan(0.001);
      checked++;
    }
    expect(checked).toBeGreaterThan(200);
  });

  test('back faces are not drawn', () => {
    const away = mesh(fullTriangle(0), [0, 2, 1]);
    expect(rasterize(away, photoView(camera, 4)).triangle).not.toContain(0);
  });

  test('triangles behind the camera, without area or with NaN draw nothing', () => {
    const positions = [...fullTriangle(4), ...fullTriangle(0), Number.NaN, 0, 0];
    const raster = rasterize(mesh(positions, [0, 1, 2, 3, 3, 4, 3, 4, 6]), photoView(camera, 8));
    expect(new Set(raster.triangle)).toEqual(new Set([-1]));
    expect(new Set(raster.depth)).toEqual(new Set([Infinity]));
  });
});

describe('visibleShare', () => {
  // The left two columns see a surface at depth 1, the others nothing.
  const map = { width: 4, height: 3, depth: Float32Array.from({ length: 12 }, (_, i) => (i % 4 < 2 ? 1 : Infinity)) };

  test('hides a point behind a surface, and not one in front of it or next to it', () => {
    expect(visibleShare(map, 1, 1.5, 2)).toBe(0);
    expect(visibleShare(map, 1, 1.5, 0.5)).toBe(1);
    expect(visibleShare(map, 3, 1.5, 2)).toBe(1);
  });

  test('rises over one pixel across an edge instead of stepping', () => {
    expect(visibleShare(map, 1.75, 1.5, 2)).toBeCloseTo(0.25, 6);
    expect(visibleShare(map, 2.25, 1.5, 2)).toBeCloseTo(0.75, 6);
  });

  test('is 1 outside the image', () => {
    expect(visibleShare(map, -5, 1.5, 2)).toBe(1);
    expect(visibleShare(map, 1, 99, 2)).toBe(1);
    expect(visibleShare(map, Number.NaN, 1, 2)).toBe(1);
  });
});
