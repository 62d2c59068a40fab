import { expect, test } from 'vitest';
import { traceIdOf } from './trace-context.js';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const valid = `00-${traceId}-00f067aa0ba902b7-01`;

test('a request goes on with the trace that its traceparent names', () => {
  expect(traceIdOf(valid)).toBe(traceId);
  expect(traceIdOf(`${valid.slice(0, -2)}00`)).toBe(traceId);
  // A later version may say more after what is known.
  expect(traceIdOf(`01${valid.slice(2)}-what-comes`)).toBe(traceId);
});

test.each([
  ['none', undefined],
  ['two', [valid, valid]],
  ['one in capitals', valid.toUpperCase()],
  ['one that is too short', valid.slice(1)],
  ['version 00 with more to it', `${valid}-more`],
  ['the version that is forbidden', `ff${valid.slice(2)}`],
  ['no trace', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`],
  ['no parent', `00-${traceId}-${'0'.repeat(16)}-01`],
  ['a line of its own', `${valid}\n`],
])('a request with a traceparent that is %s begins a trace of its own', (_, header) => {
  const begun = traceIdOf(header);
  expect(begun).toMatch(/^[0-9a-f]{32}$/);
  expect(begun).not.toBe(traceId);
  expect(traceIdOf(header)).not.toBe(begun);
});
