import { expect, test } from 'vitest';
import { storedOptions } from './job-options.js';

test('of the options of a job, the first ones that fit into 1 KiB are kept', () => {
  const long = Object.fromEntries(Array.from({ length: 16 }, (_, index) => [`option_${index}`, '\u6f22'.repeat(256)]));
  expect(Object.keys(JSON.parse(storedOptions({ quality: '512', ...long }) ?? ''))).toEqual(['quality', 'option_0']);
  expect(storedOptions({ quality: '512', ignored: {}, seed: 7 })).toBe('{"quality":"512","seed":7}');
});
