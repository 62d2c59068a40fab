import { expect, test } from 'vitest';
import { seededRandom } from '../random.mjs';
import { roughnessOf } from './roughness.mjs';

/** A ball of radius 1, and up to 1 + `bump` in the half that faces away from +Z. */
function ball(bump: number) {
  const [rings, around] = [24, 48];
  const random = seededRandom(5);
  const positions: number[] = [];
  for (let ring = 0; ring <= rings; ring++) {
    for (let i = 0; i < around; i++) {
      const [polar, angle] = [(Math.PI * ring) / rings, (2 * Math.PI * i) / around];
      const pole = ring === 0 || ring === rings;
      const unit = [Math.sin(polar) * Math.cos(angle), Math.cos(polar), Math.sin(polar) * Math.sin(angle)];
      const radius = !pole && unit[2]! < -0.3 ? 1 + bump * random() : 1;
      positions.push(...unit.map((value) => radius * value));
    }
  }
  const indices: number[] = [];
  for (let ring = 0; ring < rings; ring++) {
    for (let i = 0; i < around; i++) {
      const [a, b] = [ring * around + i, ring * around + ((i + 1) % around)];
      if (ring > 0) indices.push(a, b, a + around);
      if (ring < rings - 1) indices.push(b, b + around, a + around);
    }
  }
  return { positions: Float32Array.from(positions), indices: Uint32Array.from(indices) };
}

test('bumps on the hidden side count only there', () => {
  const even = roughnessOf(ball(0), [0, 0, 5]);
  const bumpy = roughnessOf(ball(0.05), [0, 0, 5]);
  expect(even.hidden).toBeCloseTo(even.seen, 1);
  expect(even.hidden).toBeLessThan(1);
  expect(bumpy.seen).toBeCloseTo(even.seen, 3);
  expect(bumpy.hidden).toBeGreaterThan(even.hidden + 2);
});
