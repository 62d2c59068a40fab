import { expect, test } from 'vitest';
import type { Matte } from '../base/image.js';
import { photoWarnings } from './photo-warnings.js';

type Box = readonly [left: number, top: number, right: number, bottom: number];

/** A matte of 800 x 600 pixels with these boxes, right and bottom exclusive. */
function matteOf(...boxes: Box[]): Matte {
  const [width, height] = [800, 600];
  const data = new Uint8Array(width * height);
  for (const [left, top, right, bottom] of boxes) {
    for (let y = top; y < bottom; y++) data.fill(255, y * width + left, y * width + right);
  }
  return { width, height, data };
}

const centered: Box = [200, 100, 600, 500];

test.each<[string, readonly Box[], string[]]>([
  ['one object with a margin is fine', [centered], []],
  ['an object that touches one edge with little of it is fine', [[200, 100, 300, 600]], []],
  ['an object that fills the photo is cut off', [[0, 0, 800, 600]], ['cut_off']],
  ['an object in a corner is cut off', [[0, 300, 300, 600]], ['cut_off']],
  ['an object that is cut along one edge is cut off', [[200, 100, 600, 600]], ['cut_off']],
  [
    'two objects beside each other are several',
    [
      [100, 200, 380, 500],
      [450, 200, 700, 500],
    ],
    ['several_objects'],
  ],
  [
    'a small thing beside an object is not a second one',
    [
      [100, 100, 500, 500],
      [600, 400, 650, 450],
    ],
    [],
  ],
  [
    'parts that a thin gap divides are one object',
    [
      [100, 100, 399, 500],
      [402, 100, 700, 500],
    ],
    [],
  ],
  [
    'a part within the box of another belongs to it',
    [
      [100, 100, 150, 500],
      [100, 450, 700, 500],
      [300, 100, 600, 300],
    ],
    [],
  ],
  [
    'chips all over a photo, which a board fills, are several objects',
    [
      [60, 60, 200, 160],
      [500, 80, 620, 200],
      [100, 400, 240, 520],
      [600, 380, 760, 540],
    ],
    ['several_objects'],
  ],
  ['an object of 127 pixels has too few', [[300, 300, 427, 400]], ['low_resolution']],
  ['an object of 128 pixels has enough', [[300, 300, 428, 400]], []],
  ['no object has no warnings', [], []],
])('%s', (_, boxes, warnings) => {
  expect(photoWarnings({ matte: matteOf(...boxes), isFramed: false }, false)).toEqual(warnings);
});

test('a cutout that is cropped at its edges is not cut off', () => {
  expect(photoWarnings({ matte: matteOf([0, 0, 800, 600]), isFramed: false }, true)).toEqual([]);
});
