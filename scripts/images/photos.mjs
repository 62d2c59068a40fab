// Draws the good and the bad set of photos of docs/photos.md from those of the wooden truck.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { main } from '../processes.mjs';
import { demoSides, requireFrom, root } from '../repository.mjs';
import { tile } from './contact-sheet.mjs';

/** @type {typeof import('sharp').default} */
const sharp = requireFrom('engine')('sharp');
const size = 220;

await main(async () => {
  const { front, others } = demoSides('wooden-truck');
  const good = [front, ...Object.values(others)].map((photo) => sharp(photo));
  const { width, height } = await sharp(front).metadata();
  const cutOff = { left: 0, top: 0, width: Math.round(0.6 * width), height: Math.round(0.72 * height) };
  const bad = [
    sharp(front),
    sharp(others.left).extract(cutOff),
    sharp(front),
    sharp(others.right).modulate({ brightness: 0.35, hue: -20 }),
  ];
  writeFileSync(join(root, 'docs/pictures/photos-good.jpg'), await inARow(good));
  writeFileSync(join(root, 'docs/pictures/photos-bad.jpg'), await inARow(bad));
});

/** @param {readonly import('sharp').Sharp[]} photos */
async function inARow(photos) {
  const tiles = photos.map((photo) => photo.resize(size, size, { fit: 'cover' }).png().toBuffer());
  return tile(await Promise.all(tiles), photos.length, size)
    .jpeg({ quality: 80, mozjpeg: true })
    .toBuffer();
}
