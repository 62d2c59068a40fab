import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { betterBundle } from './better-bundle.js';

const shipped = [fileURLToPath(new URL('../../../models', import.meta.url))];

test('the recommended bundle fits the memory of the machine, in 8 bits where nothing else does', async () => {
  const offered = async (hasGpu: boolean, memory: number) => {
    const better = await betterBundle(shipped, hasGpu, memory);
    return better && [better.manifest.name, better.precision];
  };
  expect(await offered(true, 16e9)).toEqual(['triposg', undefined]);
  expect(await offered(false, 16e9)).toEqual(['triposr', undefined]);
  expect(await offered(false, 2.5e9)).toEqual(['triposr', 'int8']);
  expect(await offered(false, 1e9)).toBeUndefined();
});
