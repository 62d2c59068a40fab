import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isoTime } from './iso-time.js';

test('a time reads as JavaScript itself writes it', () => {
  const time = fc.oneof(
    fc.date({ noInvalidDate: true }).map(Number),
    fc.integer({ min: 0, max: 4e9 }).map((s) => s * 1_000),
  );
  fc.assert(
    fc.property(time, (ms) => {
      expect(isoTime(ms)).toBe(new Date(ms).toISOString());
    }),
    { numRuns: 2_000 },
  );
});
