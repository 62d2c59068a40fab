import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { cached, counting } from './cached.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

test('concurrent calls and calls within the time share one result, and later calls get a new one', async () => {
  let computed = 0;
  const count = cached(async () => ++computed, { keptMs: 200 });
  expect(await Promise.all([count(), count(), count()])).toEqual([1, 1, 1]);
  vi.advanceTimersByTime(199);
  expect(await count()).toBe(1);
  vi.advanceTimersByTime(1);
  expect(await count()).toBe(2);
});

test('a slow result is computed less often, so that it takes little of the time', async () => {
  let computed = 0;
  const count = cached(async () => {
    vi.advanceTimersByTime(100);
    return ++computed;
  }, counting);
  expect(await count()).toBe(1);
  vi.advanceTimersByTime(1_899);
  expect(await count()).toBe(1);
  vi.advanceTimersByTime(1);
  expect(await count()).toBe(2);
});

test('a failure is shared like a result, and passes', async () => {
  let healthy = false;
  const ask = cached(
    async () => {
      if (!healthy) throw new Error('away');
      return 'there';
    },
    { keptMs: 100 },
  );
  await expect(Promise.all([ask(), ask()])).rejects.toThrow('away');
  healthy = true;
  await expect(ask()).rejects.toThrow('away');
  vi.advanceTimersByTime(100);
  expect(await ask()).toBe('there');
});
