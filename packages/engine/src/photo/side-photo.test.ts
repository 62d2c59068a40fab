import { expect, test } from 'vitest';
import { frontAndOthers } from './side-photo.js';

const [front, left, back] = [1, 2, 3].map((byte) => Uint8Array.of(byte)) as [Uint8Array, Uint8Array, Uint8Array];

test('a photo alone is of the front', () => {
  expect(frontAndOthers(front)).toEqual({ front, others: [] });
});

test('the front is found at any position in the list', () => {
  const others = [
    { photo: left, side: 'left' },
    { photo: back, side: 'back' },
  ] as const;
  expect(frontAndOthers([...others, { photo: front, side: 'front' }])).toEqual({ front, others });
});

test('a list without a photo of the front is refused', () => {
  expect(() => frontAndOthers([{ photo: left, side: 'left' }])).toThrow('No photo is of the front');
  expect(() => frontAndOthers([])).toThrow('No photo is of the front');
});

test('two photos of the same side are refused', () => {
  const twice = [
    { photo: front, side: 'front' },
    { photo: left, side: 'left' },
    { photo: back, side: 'left' },
  ] as const;
  expect(() => frontAndOthers(twice)).toThrow('Two photos are of the same side');
});
