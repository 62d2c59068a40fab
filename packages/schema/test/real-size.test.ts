import { expect, test } from 'vitest';
import { parseLength } from '../src/rules.js';

test.each([
  ['80mm', 0.08],
  [' 8 CM', 0.08],
  ['0.3m', 0.3],
  ['3in', 0.0762],
])('%s is %d m', (text, meters) => {
  expect(parseLength(text)).toBeCloseTo(meters, 12);
});

test.each([
  ['80', '"80" has no unit. Write it as 80mm, 8cm, 0.3m or 3in'],
  ['-8mm', '"-8mm" is not a length from 0.1mm to 10000m. Write it as 80mm, 8cm, 0.3m or 3in'],
  ['1e9m', '"1e9m" is not a length'],
  ['large', '"large" is not a length'],
])('%s is refused with a sentence', (text, message) => {
  expect(() => parseLength(text)).toThrow(message);
});
