import { expect, test } from 'vitest';
import { outlookHeaders, phaseOf, readOutlook } from '../src/outlook.js';

test('a client reads the outlook that the server wrote', () => {
  const outlook = { position: 3, stage: 'bake' };
  expect(readOutlook(new Headers(outlookHeaders(outlook)))).toEqual(outlook);
  expect(readOutlook(new Headers(outlookHeaders({ stage: 'bake' })))).toEqual({ stage: 'bake' });
  expect(readOutlook(new Headers())).toEqual({});
});

test.each(['-1', '1.5', 'soon', '', '99999999999'])('a client ignores the invalid position "%s"', (position) => {
  expect(readOutlook(new Headers({ 'x-gen3d-queue-position': position }))).toEqual({});
});

test.each([
  ['PENDING', 0, undefined, 'waiting for preparation'],
  ['PENDING', 5, undefined, 'preparing the photo'],
  ['QUEUED', 25, undefined, 'queued'],
  ['IN_PROGRESS', 40, 'bake', 'painting the texture'],
  ['IN_PROGRESS', 40, 'a stage of a newer server', 'a stage of a newer server'],
  ['IN_PROGRESS', 40, null, 'creating the model'],
  ['IN_PROGRESS', 90, undefined, 'finishing'],
] as const)('a job that is %s at %d %% in the stage %s is described as "%s"', (status, progress, stage, text) => {
  expect(phaseOf({ status, progress }, stage)).toBe(text);
});
