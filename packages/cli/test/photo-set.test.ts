import { join } from 'node:path';
import { expect, test } from 'vitest';
import { groupPhotos, photosOf, readPhotos } from '../src/jobs/photo-set.js';

const group = (...photos: string[]) => groupPhotos(photos).map(photosOf);

test('photos of the sides join the front with the same name, whatever their order and formats', () => {
  expect(group('mug.right.png', 'mug.jpg', 'mug.LEFT.jpg', 'mug.back.heic')).toEqual([
    ['mug.jpg', 'mug.LEFT.jpg', 'mug.back.heic', 'mug.right.png'],
  ]);
});

test('a photo of a side without its front is an object of its own, and says why', () => {
  expect(group('mug.left.jpg', join('a', 'mug.jpg'), 'cup.jpg')).toEqual([
    ['mug.left.jpg'],
    [join('a', 'mug.jpg')],
    ['cup.jpg'],
  ]);
  const [side, front] = groupPhotos([join('a', 'mug.left.jpg'), 'mug.jpg']);
  expect([side?.apart, front?.apart]).toEqual(['its front, such as mug.jpg, is missing', undefined]);
});

test('a second photo of a side, URLs and stdin are objects of their own', () => {
  expect(group('mug.jpg', 'mug.left.jpg', 'mug.left.png')).toEqual([['mug.jpg', 'mug.left.jpg'], ['mug.left.png']]);
  expect(groupPhotos(['mug.jpg', 'mug.left.jpg', 'mug.left.png'])[1]?.apart).toBe('mug.jpg already has mug.left.jpg');
  expect(group('https://a/mug.jpg', 'https://a/mug.left.jpg', '-')).toHaveLength(3);
});

test('photos are read with their sides', async () => {
  const [photos] = groupPhotos(['mug.jpg', 'mug.back.jpg']);
  const read = async (path: string) => path.toUpperCase();
  expect(await readPhotos(photos!, read)).toEqual({ image: 'MUG.JPG', views: { back: 'MUG.BACK.JPG' } });
  expect(await readPhotos({ front: 'mug.jpg', views: {} }, read)).toEqual({ image: 'MUG.JPG' });
});
