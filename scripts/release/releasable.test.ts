import { expect, test } from 'vitest';
import { releaseProblems } from './releasable.mjs';

test('versions, names and the changelog of this repository match, as a release requires', () => {
  expect(releaseProblems()).toEqual([]);
});
