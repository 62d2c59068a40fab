import { expect, test } from 'vitest';
import { type BentView, bendViews } from './bend.js';
import { type Evidence, fusedEvidence } from './evidence.js';
import { fusedField } from './fuse.js';
import { settle } from './settle.js';
import { union, viewFrom } from './sides.fixture.js';

/** A top on one leg, which is far to the right. */
const table = union(
  (x, y, z) => Math.min(0.4 - Math.abs(x), 0.05 - Math.abs(y - 0.2), 0.2 - Math.abs(z)),
  (x, y, z) => Math.min(0.03 - Math.abs(x - 0.3), 0.3 - Math.abs(y + 0.1), 0.03 - Math.abs(z)),
);

const depths = Array.from({ length: 81 }, (_, i) => -0.4 + i / 100);

/** The maximum density along a line at (x, y), from the table's back to its front. */
async function mostAt(views: readonly BentView[], x: number, y: number): Promise<number> {
  const density = new Float32Array(depths.length);
  await fusedField(views, 0).evaluate(Float32Array.from(depths.flatMap((z) => [x, y, z])), density);
  return Math.max(...density);
}

test('a leg that a photo with a wrong camera carves away is kept as the front shows it', {
  timeout: 60_000,
}, async () => {
  const views = bendViews([viewFrom(table, 'front', 0), viewFrom(table, 'left', -90, -90, -0.06)]);
  const found: Evidence = { outline: 0, others: 0 };
  const carved = depths.map((z) => {
    fusedEvidence(views)(0.3, -0.37, z, found);
    return found.others;
  });
  expect(Math.max(...carved)).toBeLessThan(0);
  expect(await mostAt(views, 0.3, -0.37)).toBeGreaterThan(0);
  expect(await mostAt(views, 0.2, -0.37)).toBeLessThan(0);
});

test('photos that agree are hardly lifted', { timeout: 60_000 }, () => {
  const { lift } = settle(bendViews([viewFrom(table, 'front', 0), viewFrom(table, 'left', -90)]));
  expect(lift.values.filter((value) => value > 1.5).length).toBeLessThan(0.005 * lift.values.length);
});
