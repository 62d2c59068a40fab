import { expect, test } from 'vitest';
import { minimize } from './nelder-mead.js';

test('finds the minimum at the end of a curved valley', () => {
  const rosenbrock = ([x, y]: readonly number[]) => (1 - x!) ** 2 + 20 * (y! - x! * x!) ** 2;
  const [x, y] = minimize(rosenbrock, [-1, 1], [0.5, 0.5], 300);
  expect(x).toBeCloseTo(1, 1);
  expect(y).toBeCloseTo(1, 1);
});

test('stops after a number of rounds, at the best point so far', () => {
  const values: number[] = [];
  const best = minimize(([x]) => values[values.push(x! ** 2) - 1]!, [10], [1], 3);
  expect(values.length).toBeLessThan(10);
  expect(best[0]! ** 2).toBe(Math.min(...values));
});
