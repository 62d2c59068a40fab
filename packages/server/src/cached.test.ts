import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { until } from '../test/kit.js';
import { cached, counting } from './cached.js';

test('calls at once and calls within the time share one result, and later calls get a new one', async () => {
  let computed = 0;
  const count = cached(async () => ++computed, { keptMs: 200 });
  expect(await Promise.all([count(), count(), count()])).toEqual([1, 1, 1]);
  expect(await count()).toBe(1);
  await until(async () => (await count()) === 2);
});

test('what is slow is computed less often, so that it takes little of the time', async () => {
  let computed = 0;
  const started = performance.now();
  const count = cached(async () => {
    computed++;
    await pause(100);
  }, counting);
  while (performance.now() - started < 1_500) {
    await count();
    await pause(5);
  }
  expect(computed).toBe(1);
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
  await until(() => ask().catch(() => undefined));
});
