import { expect, test } from 'vitest';
import { releaseProblems } from './releasable.mjs';

test('versions, names and the changelog of this repository fit together, as a release needs', () => {
  expect(releaseProblems()).toEqual([]);
});
