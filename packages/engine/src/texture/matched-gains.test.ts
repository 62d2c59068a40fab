import { expect, test } from 'vitest';
import { matchedGains } from './matched-gains.js';

const count = 2000;
const paint = Float64Array.from({ length: 3 * count }, (_, i) => 0.1 + 0.3 * ((i * 0.618) % 1));
/** A photo of the points from `first` to `last`, in which each channel is multiplied by a factor. */
const photo = (first: number, last: number, factors: readonly number[]) => ({
  seen: Float64Array.from({ length: count }, (_, i) => (i >= first && i < last ? 1 : 0)),
  colors: paint.map((value, i) => value * factors[i % 3]!),
});

test('gains undo the exposure and the white balance of photos that show the same points', () => {
  const gains = matchedGains([photo(0, 1000, [1, 1, 1]), photo(500, 2000, [2, 1.5, 0.8])], count);
  expect([...gains[0]!]).toEqual([1, 1, 1]);
  for (const [c, factor] of [2, 1.5, 0.8].entries()) expect(gains[1]![c]! * factor).toBeCloseTo(1, 1);
});

test('gains reach a photo that has points in common with another one only', () => {
  const photos = [photo(0, 900, [1, 1, 1]), photo(500, 1500, [1.4, 1.4, 1.4]), photo(1100, 2000, [0.7, 0.7, 0.7])];
  expect(matchedGains(photos, count)[2]![0]! * 0.7).toBeCloseTo(1, 1);
});

test('photos that show no common points keep their colors', () => {
  const gains = matchedGains([photo(0, 900, [1, 1, 1]), photo(1000, 2000, [2, 2, 2])], count);
  expect([...gains[1]!]).toEqual([1, 1, 1]);
});
