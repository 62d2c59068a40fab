import { expect, test } from 'vitest';
import { hmac, KeyRing, newKey } from './server-key.js';

const purpose = 'api-keys';

test('a value that moves to the current key during the search is found', async () => {
  const ring = new KeyRing([newKey(), newKey()]);
  const [current, old] = ring.subkeys(purpose).map((key) => hmac(key, 'value').toString('hex'));
  let stored = old;
  const found = await ring.search(purpose, (key) => {
    const isStored = hmac(key, 'value').toString('hex') === stored;
    // Another process moves it after this one has looked for it under the current key.
    stored = current;
    return isStored || undefined;
  });
  expect(found).toBe(true);
});

test('a new key is learned from what no known key fits, and never forgotten for an older or a foreign one', async () => {
  const [first, second] = [newKey(), newKey()];
  let stored = [first];
  const ring = new KeyRing([first], async () => stored);
  const [old] = ring.subkeys(purpose);
  stored = [second, first];
  expect(await ring.search(purpose, (key) => (key.equals(old!) ? undefined : key))).toEqual(ring.current(purpose));
  for (stored of [[first], [newKey()]]) {
    await ring.refresh();
    expect(ring.subkeys(purpose)).toHaveLength(2);
  }
});

test('searches that end without a result share a read, which begins after they asked for it', async () => {
  let reads = 0;
  const key = newKey();
  const ring = new KeyRing([key], async () => {
    reads++;
    await new Promise(setImmediate);
    return [key];
  });
  const fruitless = () => ring.search(purpose, () => undefined);
  await Promise.all(Array.from({ length: 100 }, fruitless));
  expect(reads).toBe(1);
  const first = ring.refresh();
  await Promise.resolve();
  await Promise.all([first, ...Array.from({ length: 100 }, fruitless)]);
  expect(reads).toBe(3);
});
