import { expect, test } from 'vitest';
import { progressSteps } from './progress-steps.js';

test('progress goes from 30 to 90 in steps of 10, each reported once, and never falls', () => {
  const seen: number[] = [];
  const pass = progressSteps((progress) => seen.push(progress));
  for (const fraction of [0, 0.1, 0.5, 0.52, 0.4, 0.7, 1, 1]) pass(fraction);
  expect(seen).toEqual([60, 70, 90]);
});
