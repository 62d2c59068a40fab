import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { requireFrom, root } from '../../../scripts/repository.mjs';
import { readSet, sides, type View } from './read-set.mjs';

const sharp = requireFrom('engine')('sharp');
const folderOf = (path: string) => join(root, path);
const listOf = (folder: string) => JSON.parse(readFileSync(join(folder, 'objects.json'), 'utf8'));

const sets = [
  { name: 'benchmark', folder: folderOf('models/lab/sets/benchmark'), atLeast: 60 },
  { name: 'validation', folder: folderOf('models/lab/sets/validation'), atLeast: 20 },
];

describe.each(sets)('the $name set', ({ folder, atLeast }) => {
  const objects = readSet(folder);

  test('has every object of its list, of kinds that training makes and of others, each with its license', () => {
    const notice = readFileSync(join(folder, 'NOTICE.md'), 'utf8');
    expect(objects.map(({ id }) => id)).toEqual(listOf(folder).objects.map(({ id }: { id: string }) => id));
    expect(objects.length).toBeGreaterThanOrEqual(atLeast);
    expect(new Set(objects.map(({ seen }) => seen))).toEqual(new Set([true, false]));
    for (const { id } of objects)
      expect(notice).toMatch(new RegExp(`^\\| \`${id}\` \\| .+ \\| .+ \\| (CC0|CC BY|BSD) `, 'm'));
  });

  test('has points that fill the frame [-1, 1]', () => {
    for (const object of objects) {
      const { positions, colors, seen } = object.truth();
      expect(positions.length, object.id).toBe(3 * 16384);
      expect([colors.length, seen.length]).toEqual([3 * 16384, 16384]);
      const reach = positions.reduce((max, value) => Math.max(max, Math.abs(value)), 0);
      expect(reach, object.id).toBeGreaterThan(0.98);
      expect(reach, object.id).toBeLessThanOrEqual(1);
    }
  });

  test('has the views of its photos: the points that a photo shows project onto the object', {
    timeout: 300_000,
  }, async () => {
    for (const object of objects) {
      const truth = object.truth();
      for (const [view, photo] of object.photos.entries()) {
        await expectOnObject(photo, projected(truth, object.views[view], 1 << view));
      }
    }
  });

  test('has photos of the sides of objects, a quarter turn apart, whose views show the points where they are', {
    timeout: 300_000,
  }, async () => {
    for (const object of objects.filter((candidate) => candidate.sides)) {
      const truth = object.truth();
      for (const side of sides) {
        const { photo, view } = object.sides![side];
        await expectOnObject(photo, projected(truth, view));
        const turn = view.yawDegrees - object.sides!.front.view.yawDegrees;
        const error = turn - { front: 0, left: -90, back: 180, right: 90 }[side];
        expect(Math.abs(error - 360 * Math.round(error / 360)), photo).toBeLessThan(15.01);
      }
    }
  });
});

/** Expects a photo of a cutout, and pixels that are nearly all on the object. */
async function expectOnObject(photo: string, pixels: readonly [number, number][]) {
  const { data, info } = await sharp(photo).raw().toBuffer({ resolveWithObject: true });
  expect([info.width, info.height, info.channels], photo).toEqual([512, 512, 4]);
  const onObject = pixels.filter(([x, y]) => data[4 * (y * 512 + x) + 3]! > 0).length;
  expect(pixels.length, photo).toBeGreaterThan(200);
  expect(onObject / pixels.length, photo).toBeGreaterThan(0.97);
}

test('the benchmark and the validation set share no source', () => {
  const [benchmark, validation] = sets.map(({ folder }) =>
    Object.values<{ package?: string; repository?: string }>(listOf(folder).sources).map(
      ({ package: name, repository }) => name ?? repository,
    ),
  );
  expect(benchmark!.filter((source) => validation!.includes(source))).toEqual([]);
});

test('both sets together are less than 20 MB', () => {
  const bytes = sets
    .flatMap(({ folder }) => ['photos', 'points'].map((name) => join(folder, name)))
    .flatMap((folder) => readdirSync(folder).map((file) => statSync(join(folder, file)).size))
    .reduce((sum, size) => sum + size, 0);
  expect(bytes).toBeLessThan(20e6);
});

/** The pixels [column, row] of all points, or of those that a photo shows. */
function projected(
  truth: { positions: Float32Array; seen: Uint8Array },
  { cameraToObject: m, fovDegrees }: View,
  shown?: number,
) {
  const focal = 256 / Math.tan((fovDegrees * Math.PI) / 360);
  const pixels: [number, number][] = [];
  truth.seen.forEach((views, point) => {
    if (shown && (views & shown) === 0) return;
    const offset = [0, 1, 2].map((axis) => truth.positions[3 * point + axis]! - m[4 * axis + 3]!);
    // The columns of the matrix are the camera's right, up and back axes.
    const [right, up, back] = [0, 1, 2].map((axis) =>
      [0, 1, 2].reduce((sum, row) => sum + m[4 * row + axis]! * offset[row]!, 0),
    ) as [number, number, number];
    pixels.push([Math.floor(256 - (focal * right) / back), Math.floor(256 + (focal * up) / back)]);
  });
  return pixels;
}
