import { expect, test } from 'vitest';
import { outlookHeaders, readOutlook } from '../src/outlook.js';

test('a client reads the outlook that the server wrote', () => {
  const outlook = { position: 3, expectedSeconds: 0, stage: 'bake' };
  expect(readOutlook(new Headers(outlookHeaders(outlook)))).toEqual(outlook);
  expect(readOutlook(new Headers(outlookHeaders({ stage: 'bake' })))).toEqual({ stage: 'bake' });
  expect(readOutlook(new Headers())).toEqual({});
});

test.each(['-1', '1.5', 'soon', '', '99999999999'])('a client ignores the invalid position "%s"', (position) => {
  expect(readOutlook(new Headers({ 'x-gen3d-queue-position': position }))).toEqual({});
});
