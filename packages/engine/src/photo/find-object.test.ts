import { expect, test } from 'vitest';
import type { Rectangle } from './enlarge-matte.js';
import { findObject, type Pass } from './find-object.js';

const photo = { width: 800, height: 400, data: new Uint8Array(4 * 800 * 400).fill(255) };
const input = { size: 256 };
const quick = { locate: 64, closeUp: 128 };
const whole = { left: 0, top: 0, width: 800, height: 400 };

/** A disc of 40 pixels around 600, 200 of the photo, with the coverage that `coverageAt` returns for the size. */
function passes(coverageAt: (size: number) => number) {
  const seen: Array<{ part: Rectangle; size: number }> = [];
  const pass: Pass = async (part, size) => {
    seen.push({ part, size });
    const data = new Uint8Array(size * size);
    for (let i = 0; i < data.length; i++) {
      const x = part.left + (((i % size) + 0.5) * part.width) / size;
      const y = part.top + ((Math.floor(i / size) + 0.5) * part.height) / size;
      if (Math.hypot(x - 600, y - 200) < 40) data[i] = coverageAt(size);
    }
    return { width: size, height: size, data, colors: new Uint8Array(3 * data.length).fill(255) };
  };
  return { pass, seen };
}

test('the matte comes from a close-up of the part in which the first pass found the object', async () => {
  const { pass, seen } = passes(() => 255);
  const matte = (await findObject(photo, { ...input, quick }, pass))!;
  expect(seen.map(({ size }) => size)).toEqual([64, 128]);
  expect(seen[0]!.part).toEqual(whole);
  const { left, top, width, height } = seen[1]!.part;
  expect([left, top]).toEqual([expect.closeTo(552, -1.2), expect.closeTo(152, -1.2)]);
  expect([width, height]).toEqual([expect.closeTo(96, -1.5), expect.closeTo(96, -1.5)]);

  expect(matte).toMatchObject({ width: 800, height: 400 });
  const covered = matte.data.reduce((sum, value) => sum + value / 255, 0);
  expect(covered / (Math.PI * 40 * 40)).toBeCloseTo(1, 1);
  expect(matte.data[200 * 800 + 600]).toBe(255);
  expect(matte.data[200 * 800 + 200]).toBe(0);
});

test.each([
  ['first pass finds nothing', { 64: 0 }, [64, 256]],
  ['first pass is uncertain about the object', { 64: 140 }, [64, 256]],
  ['close-up finds nothing', { 128: 0 }, [64, 128, 256]],
])(
  'if the %s, one pass over the whole photo at full size decides',
  async (_, coverage: Record<number, number>, sizes) => {
    const { pass, seen } = passes((size) => coverage[size] ?? 255);
    const matte = (await findObject(photo, { ...input, quick }, pass))!;
    expect(seen.map(({ size }) => size)).toEqual(sizes);
    expect(seen.at(-1)!.part).toEqual(whole);
    expect(matte.data[200 * 800 + 600]).toBe(255);
  },
);

test('a network of one size takes one pass', async () => {
  const { pass, seen } = passes(() => 255);
  expect((await findObject(photo, input, pass))!.data[200 * 800 + 600]).toBe(255);
  expect(seen).toEqual([{ part: whole, size: 256 }]);
});

test('a photo without an object has no matte', async () => {
  const { pass } = passes(() => 0);
  expect(await findObject(photo, { ...input, quick }, pass)).toBeUndefined();
});
