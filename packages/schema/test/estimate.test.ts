import { expect, test } from 'vitest';
import { estimateHeaders, phaseOf, readEstimate } from '../src/estimate.js';

test('a client reads the estimate that the server wrote', () => {
  const estimate = { position: 3, stage: 'bake' };
  expect(readEstimate(new Headers(estimateHeaders(estimate)))).toEqual(estimate);
  expect(readEstimate(new Headers(estimateHeaders({ stage: 'bake' })))).toEqual({ stage: 'bake' });
  expect(readEstimate(new Headers())).toEqual({});
});

test.each(['-1', '1.5', 'soon', '', '99999999999'])('a client ignores the invalid position "%s"', (position) => {
  expect(readEstimate(new Headers({ 'x-gen3d-queue-position': position }))).toEqual({});
});

test.each([
  ['PENDING', 0, {}, 'queued'],
  ['PENDING', 0, { position: 1 }, 'queued, next in turn'],
  ['PENDING', 5, { position: 1 }, 'preparing the photo'],
  ['QUEUED', 25, { position: 4 }, 'queued, 3 ahead of it'],
  ['IN_PROGRESS', 40, { stage: 'bake' }, 'painting the texture'],
  ['IN_PROGRESS', 40, { stage: 'a stage of a newer server' }, 'a stage of a newer server'],
  ['IN_PROGRESS', 40, {}, 'creating the model'],
  ['IN_PROGRESS', 90, {}, 'finishing'],
] as const)(
  'a job that is %s at %d %% with the estimate %j is described as "%s"',
  (status, progress, estimate, text) => {
    expect(phaseOf({ status, progress }, estimate)).toBe(text);
  },
);
