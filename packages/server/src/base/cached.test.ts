import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { cached } from './cached.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

test('concurrent calls and calls within keptMs share a result, and later calls compute a new one', async () => {
  let computed = 0;
  const count = cached(async () => ++computed, 200);
  expect(await Promise.all([count(), count(), count()])).toEqual([1, 1, 1]);
  vi.advanceTimersByTime(199);
  expect(await count()).toBe(1);
  vi.advanceTimersByTime(1);
  expect(await count()).toBe(2);
});

test('a failure is kept as long as a result', async () => {
  let healthy = false;
  const read = cached(async () => {
    if (!healthy) throw new Error('unavailable');
    return 'available';
  }, 100);
  await expect(Promise.all([read(), read()])).rejects.toThrow('unavailable');
  healthy = true;
  await expect(read()).rejects.toThrow('unavailable');
  vi.advanceTimersByTime(100);
  expect(await read()).toBe('available');
});
