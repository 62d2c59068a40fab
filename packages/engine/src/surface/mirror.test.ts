import { expect, test } from 'vitest';
import { mirrorsOf } from './mirror.js';
import { meshOf } from './shapes.fixture.js';

const degree = Math.PI / 180;

/** A cross of two bars, rotated around Y. The second bar is across the far half of the first. */
const cross = (turn: number) => {
  const [sin, cos] = [Math.sin(turn), Math.cos(turn)];
  return meshOf(64, (x, y, z) => {
    const [across, ahead] = [cos * x - sin * z, sin * x + cos * z];
    const bar = 0.12 - Math.hypot(across, y, Math.max(Math.abs(ahead) - 0.65, 0));
    const beam = 0.12 - Math.hypot(Math.max(Math.abs(across) - 0.4, 0), y, ahead - 0.35);
    return Math.max(bar, beam);
  });
};

test.each([0, 35, 130])('finds the plane through the long bar of a cross turned by %i degrees', (turn) => {
  const [found] = mirrorsOf(cross(turn * degree), 0);
  const across = found!.normal[0] * Math.cos(turn * degree) - found!.normal[2] * Math.sin(turn * degree);
  expect(Math.abs(across)).toBeGreaterThan(0.998);
  expect(Math.abs(found!.offset)).toBeLessThan(0.02);
});

test('finds no plane in a corkscrew', () => {
  const corkscrew = meshOf(64, (x, y, z) => {
    const rise = y - 0.25 * Math.atan2(z, x);
    return 0.12 - Math.hypot(Math.hypot(x, z) - 0.5, rise);
  });
  expect(mirrorsOf(corkscrew, 0)).toEqual([]);
});

test('leaves out planes that separate the front from the back', () => {
  for (const { normal } of mirrorsOf(cross(90 * degree), 0)) {
    expect(Math.abs(normal[2])).toBeLessThan(Math.cos(29 * degree));
  }
});

test('finds no plane in a bottle, which every upright plane mirrors', () => {
  const bottle = meshOf(64, (x, y, z) => {
    const radius = y < 0.2 ? 0.35 : 0.14;
    // Dents that wind around the bottle: no plane mirrors them, as none mirrors the errors of a reconstruction.
    const dent = 0.02 * Math.sin(3 * Math.atan2(z, x) + 12 * y);
    return Math.min(radius + dent - Math.hypot(x, z), 0.7 - Math.abs(y));
  });
  expect(mirrorsOf(bottle, 0)).toEqual([]);
});
