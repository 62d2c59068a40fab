import { expect, test, vi } from 'vitest';
import { capitalized, fileSize, milliseconds, relativeTime, seconds, usd } from './format.js';

test.each([
  [usd(0.00123), '$0.0012'],
  [usd(9.5), '$9.50'],
  [fileSize(93_001), '94\u00a0kB'],
  [fileSize(1_400_000), '1\u00a0MB'],
  [fileSize(1_700_000_000), '1.7\u00a0GB'],
  [milliseconds(999.4), '999 ms'],
  [milliseconds(1_500), '1.5 s'],
  [seconds(59.94), '59.9 s'],
  [seconds(125), '2 min 5 s'],
  [capitalized('painting the texture'), 'Painting the texture'],
])('%s', (text, expected) => {
  expect(text).toBe(expected);
});

test('a time is relative to now, in its largest unit', () => {
  vi.useFakeTimers({ now: Date.parse('2026-01-02T12:00:00Z') });
  try {
    expect(relativeTime('2026-01-02T11:55:00Z')).toBe('5 min. ago');
    expect(relativeTime('2026-01-02T12:00:10Z')).toBe('in 10 sec.');
    expect(relativeTime('2026-01-01T11:00:00Z')).toBe('yesterday');
  } finally {
    vi.useRealTimers();
  }
});
