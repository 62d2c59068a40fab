import { expect, test } from 'vitest';
import { coalesced } from './coalesced.js';

test('calls during a run share the next one, also if a run fails', async () => {
  const runs: { end: (value: string) => void; fail: (error: Error) => void }[] = [];
  const call = coalesced(() => new Promise<string>((end, fail) => void runs.push({ end, fail })));
  const first = call();
  await expect.poll(() => runs.length).toBe(1);
  const others = Promise.all([call(), call()]);
  runs[0]!.fail(new Error('failed'));
  await expect(first).rejects.toThrow('failed');
  await expect.poll(() => runs.length).toBe(2);
  const last = call();
  runs[1]!.end('second');
  expect(await others).toEqual(['second', 'second']);
  await expect.poll(() => runs.length).toBe(3);
  runs[2]!.end('third');
  expect(await last).toBe('third');
});
