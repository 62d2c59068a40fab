import { expect, test } from 'vitest';
import type { Matte } from '../base/image.js';
import { photoWarnings } from './photo-warnings.js';

/** A box of pixels, without those at `right` and `bottom`. */
const box = (left: number, top: number, right: number, bottom: number) => ({ left, top, right, bottom });

/** A matte of 800 x 600 pixels with these boxes. */
function matteOf(...boxes: ReturnType<typeof box>[]): Matte {
  const [width, height] = [800, 600];
  const data = new Uint8Array(width * height);
  for (const { left, top, right, bottom } of boxes) {
    for (let y = top; y < bottom; y++) data.fill(255, y * width + left, y * width + right);
  }
  return { width, height, data };
}

test.each<[string, ReturnType<typeof box>[], string[]]>([
  ['one object with a margin is fine', [box(200, 100, 600, 500)], []],
  ['an object that touches one edge with little of it is fine', [box(200, 100, 300, 600)], []],
  ['an object that fills the photo is cut off', [box(0, 0, 800, 600)], ['cut_off']],
  ['an object in a corner is cut off', [box(0, 300, 300, 600)], ['cut_off']],
  ['an object that is cut along one edge is cut off', [box(200, 100, 600, 600)], ['cut_off']],
  [
    'two objects beside each other are several',
    [box(100, 200, 380, 500), box(450, 200, 700, 500)],
    ['several_objects'],
  ],
  ['a small thing beside an object is not a second one', [box(100, 100, 500, 500), box(600, 400, 650, 450)], []],
  ['parts that a thin gap divides are one object', [box(100, 100, 399, 500), box(402, 100, 700, 500)], []],
  [
    'a part within the box of another belongs to it',
    [box(100, 100, 150, 500), box(100, 450, 700, 500), box(300, 100, 600, 300)],
    [],
  ],
  [
    'chips all over a photo, which a board fills, are several objects',
    [box(60, 60, 200, 160), box(500, 80, 620, 200), box(100, 400, 240, 520), box(600, 380, 760, 540)],
    ['several_objects'],
  ],
  ['an object of 127 pixels has too few', [box(300, 300, 427, 400)], ['low_resolution']],
  ['an object of 128 pixels has enough', [box(300, 300, 428, 400)], []],
  ['no object has no warnings', [], []],
])('%s', (_, boxes, warnings) => {
  expect(photoWarnings({ matte: matteOf(...boxes), isFramed: false }, false)).toEqual(warnings);
});

test('a cutout that is cropped at its edges is not cut off', () => {
  expect(photoWarnings({ matte: matteOf(box(0, 0, 800, 600)), isFramed: false }, true)).toEqual([]);
});
