import { expect, test } from 'vitest';
import { findMirrors, mirrorsOf, reflect } from './mirror.js';
import { meshOf } from './shapes.fixture.js';

const degree = Math.PI / 180;
const upright = { up: [0, 1, 0], view: [0, 0, 1], awayFromView: 0 } as const;

/**
 * A cross of two bars, rotated around Y. The second bar is across the far half of the first; `aside` moves it off
 * center.
 */
const cross = (turn: number, aside = 0) => {
  const [sin, cos] = [Math.sin(turn), Math.cos(turn)];
  return meshOf(64, (x, y, z) => {
    const [across, ahead] = [cos * x - sin * z, sin * x + cos * z];
    const bar = 0.12 - Math.hypot(across, y, Math.max(Math.abs(ahead) - 0.65, 0));
    const beam = 0.12 - Math.hypot(Math.max(Math.abs(across - aside) - 0.4, 0), y, ahead - 0.35);
    return Math.max(bar, beam);
  });
};

test.each([0, 35, 70, 120])('finds the plane through the long bar of a cross turned by %i degrees', (turn) => {
  const found = findMirrors(cross(turn * degree), upright)[0]!;
  const across = found.normal[0] * Math.cos(turn * degree) - found.normal[2] * Math.sin(turn * degree);
  expect(Math.abs(across)).toBeGreaterThan(0.998);
  expect(Math.abs(found.offset)).toBeLessThan(0.02);
  expect(found.error).toBeLessThan(0.015);
});

test('has a smaller error for a symmetric cross than for an asymmetric one', () => {
  const [symmetric] = findMirrors(cross(35 * degree), upright);
  const [asymmetric] = findMirrors(cross(35 * degree, 0.35), upright);
  expect(asymmetric!.error).toBeGreaterThan(2 * symmetric!.error);
});

test('finds no plane in a corkscrew', () => {
  const corkscrew = meshOf(64, (x, y, z) => {
    const rise = y - 0.25 * Math.atan2(z, x);
    return 0.12 - Math.hypot(Math.hypot(x, z) - 0.5, rise);
  });
  expect(mirrorsOf(corkscrew, 0)).toEqual([]);
});

test('leaves out planes that separate the front from the back', () => {
  expect(Math.abs(findMirrors(cross(90 * degree), upright)[0]!.normal[2])).toBeGreaterThan(0.99);
  for (const { normal } of mirrorsOf(cross(90 * degree), 0)) {
    expect(Math.abs(normal[2])).toBeLessThan(Math.cos(29 * degree));
  }
});

test('a reflection moves each point to the same distance on the other side', () => {
  const plane = { normal: [0, 0.6, 0.8], offset: 1 } as const;
  const point = new Float32Array([3, 0, 0]);
  const reflected = reflect(plane, point);
  expect(reflected[0]).toBe(3);
  expect(0.6 * reflected[1]! + 0.8 * reflected[2]!).toBeCloseTo(2, 5);
  for (const [axis, value] of reflect(plane, reflected).entries()) expect(value).toBeCloseTo(point[axis]!, 5);
});
