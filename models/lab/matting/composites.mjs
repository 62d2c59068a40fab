// Photos with a known matte: rendered objects in front of made-up backgrounds.
import { join } from 'node:path';
import { requireFrom, root } from '../../../scripts/repository.mjs';
import { readSet } from '../quality/read-set.mjs';
import { seededRandom } from '../random.mjs';
import { renderShape, wireObjects } from './wires.mjs';

/** @type {typeof import('sharp').default} */
const sharp = requireFrom('engine')('sharp');

/** @typedef {{ width: number, height: number, data: Uint8Array }} Image RGB or RGBA, or one channel of a matte */
/** @typedef {() => number} Random in 0..1 */
/** @typedef {{ name: string, jpeg: Buffer, matte: Image }} Composite */

/** Photos of each wire object. The validation set has few thin parts. */
const photosPerWireObject = 2;

/**
 * Makes the set: every object of the validation set once, and every wire object twice. The same `seed` makes the same
 * photos.
 *
 * @param {number} seed
 * @param {number} limit maximum number of photos, chosen evenly
 * @returns {AsyncGenerator<Composite>}
 */
export async function* composites(seed = 1, limit = Number.POSITIVE_INFINITY) {
  const objects = readSet(join(root, 'models/lab/sets/validation'));
  const names = Object.keys(wireObjects);
  const total = objects.length + photosPerWireObject * names.length;
  for (let index = 0; index < total; index++) {
    if (Math.floor((index * limit) / total) === Math.floor(((index - 1) * limit) / total) && limit < total) continue;
    const random = seededRandom(1000 * seed + index);
    const thin = index >= objects.length;
    const object = objects[index % objects.length];
    const wire = names[(index - objects.length) % names.length];
    const photo = photoSize(random);
    const share = 0.4 + 0.5 * random();
    const room = share * Math.min(photo.width, photo.height);
    const cutout = thin
      ? renderShape(wireObjects[wire](random), Math.round(room), random)
      : await enlarge(object.photos[index % 2], Math.min(1100, room));
    const others = objects.filter(({ id }) => id !== object.id);
    const background = await makeBackground(photo, index, others, random);
    const name = `${String(index + 1).padStart(2, '0')}-${thin ? wire : object.id}`;
    yield { name, ...(await compose(cutout, background, random)) };
  }
}

/** @param {Random} random */
function photoSize(random) {
  const long = Math.round(1000 + 1048 * random());
  const short = Math.round(long / [1, 4 / 3, 3 / 2, 16 / 9][Math.floor(4 * random())]);
  return random() < 0.5 ? { width: long, height: short } : { width: short, height: long };
}

/**
 * A cutout cropped to its object and scaled to `size` pixels on the longer side.
 *
 * @param {string} path
 * @param {number} size
 * @returns {Promise<Image>}
 */
async function enlarge(path, size) {
  const trimmed = await sharp(path).trim({ background: '#0000', threshold: 1 }).toBuffer();
  const { data, info } = await sharp(trimmed)
    .resize(Math.round(size), Math.round(size), { fit: 'inside' })
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, data };
}

/** Crops of the demo photos that do not show their objects, as shares of width and height: left, top, width, height. */
/** @type {ReadonlyArray<readonly [string, number, number, number, number]>} */
const surfaces = [
  ['coffee-cup.jpg', 0.8, 0.05, 0.2, 0.9],
  ['film-camera.jpg', 0.02, 0.0, 0.96, 0.1],
  ['painted-chair.jpg', 0.0, 0.0, 1, 0.2],
  ['table-lamp.jpg', 0.0, 0.82, 0.4, 0.16],
  ['teapot.jpg', 0.0, 0.8, 1, 0.2],
];

const backgrounds = ['studio', 'room', 'tiles', 'photo', 'clutter'];

/**
 * @param {{ width: number, height: number }} size
 * @param {number} index
 * @param {readonly import('../quality/read-set.mjs').QualityObject[]} others to scatter behind
 * @param {Random} random
 * @returns {Promise<Image>}
 */
async function makeBackground({ width, height }, index, others, random) {
  const kind = backgrounds[index % backgrounds.length];
  const count = width * height;
  const data = new Uint8Array(3 * count);
  const [wall, floor] = [randomColor(random), randomColor(random)];
  const horizon = kind === 'studio' ? height : height * (0.35 + 0.35 * random());
  const [wallGrain, floorGrain] = await Promise.all([
    fractal(width, height, 1, random),
    fractal(width, height, kind === 'tiles' ? 1 : 6, random),
  ]);
  const roughness = kind === 'studio' ? 12 : 30 + 50 * random();
  const tile = width / (6 + 14 * random());
  for (let at = 0; at < count; at++) {
    const [x, y] = [at % width, Math.floor(at / width)];
    const below = y > horizon;
    const color = below ? floor : wall;
    const grain = ((below ? floorGrain : wallGrain)[at] - 128) / 128;
    const checked = kind === 'tiles' && (Math.floor(x / tile) + Math.floor(y / tile)) % 2 === 0;
    const light = 1.15 - (0.4 * y) / height - 0.15 * Math.abs(x / width - 0.4);
    for (let c = 0; c < 3; c++)
      data[3 * at + c] = clampByte((color[c] + roughness * grain) * light * (checked ? 0.7 : 1));
  }
  const layers = [];
  if (kind === 'photo') {
    const [name, left, top, w, h] = surfaces[Math.floor(index / backgrounds.length) % surfaces.length];
    const path = join(root, 'examples/photos', name);
    const { width: from, height: to } = await sharp(path).metadata();
    const crop = { left: left * from, top: top * to, width: w * from, height: h * to };
    for (const [key, value] of Object.entries(crop)) Object.assign(crop, { [key]: Math.floor(value) });
    const input = await sharp(path)
      .extract(crop)
      .resize(width, height, { fit: 'cover' })
      .removeAlpha()
      .png()
      .toBuffer();
    layers.push({ input, left: 0, top: 0 });
  }
  if (kind === 'clutter') {
    for (let i = 0; i < 5; i++) {
      const object = others[Math.floor(others.length * random())];
      const side = Math.round((0.15 + 0.2 * random()) * Math.min(width, height));
      const input = await sharp(object.photos[i % 2])
        .resize(side, side)
        .png()
        .toBuffer();
      const top = Math.round(Math.min(height - side, Math.max(0, horizon - side * (0.6 + 0.3 * random()))));
      layers.push({ input, left: Math.round((width - side) * random()), top });
    }
  }
  const composed = await sharp(data, { raw: { width, height, channels: 3 } })
    .composite(layers)
    .png()
    .toBuffer();
  const blurred = kind === 'clutter' ? 3 + 6 * random() : 4 * random();
  const result = await sharp(composed).blur(Math.max(0.3, blurred)).removeAlpha().raw().toBuffer();
  return { width, height, data: result };
}

/**
 * Noise of several scales, one byte per pixel around 128.
 *
 * @param {number} width
 * @param {number} height
 * @param {number} stretch how many times wider than high its spots are
 * @param {Random} random
 */
async function fractal(width, height, stretch, random) {
  const sum = new Float32Array(width * height).fill(128);
  for (let octave = 2; octave <= 7; octave++) {
    const [columns, rows] = [Math.max(2, Math.round(2 ** octave / stretch)), 2 ** octave];
    const dots = Uint8Array.from({ length: columns * rows }, () => 256 * random());
    const scaled = await sharp(dots, { raw: { width: columns, height: rows, channels: 1 } })
      .resize(width, height, { fit: 'fill', kernel: 'cubic' })
      .extractChannel(0)
      .raw()
      .toBuffer();
    for (let i = 0; i < sum.length; i++) sum[i] += (scaled[i] - 128) / octave;
  }
  return sum;
}

/**
 * Puts the object on the background: a soft shadow on the floor, a slightly blurred edge, the sensor's noise, and JPEG.
 *
 * @param {Image} cutout
 * @param {Image} background
 * @param {Random} random
 * @returns {Promise<{ jpeg: Buffer, matte: Image }>}
 */
async function compose(cutout, background, random) {
  const { width, height, data: scene } = background;
  const left = Math.round((width - cutout.width) * (0.3 + 0.4 * random()));
  const top = Math.round((height - cutout.height) * (0.35 + 0.4 * random()));
  const place = (/** @type {(at: number) => number} */ value) => {
    const placed = new Uint8Array(width * height);
    for (let y = 0; y < cutout.height; y++) {
      for (let x = 0; x < cutout.width; x++) placed[(top + y) * width + left + x] = value(y * cutout.width + x);
    }
    return placed;
  };
  const blur = (/** @type {Uint8Array} */ channel, /** @type {number} */ sigma) =>
    sharp(channel, { raw: { width, height, channels: 1 } })
      .blur(sigma)
      .extractChannel(0)
      .raw()
      .toBuffer();

  const sigma = 0.4 + 0.8 * random();
  const alpha = await blur(
    place((at) => cutout.data[4 * at + 3]),
    sigma,
  );
  const premultiplied = await Promise.all(
    [0, 1, 2].map((c) =>
      blur(
        place((at) => (cutout.data[4 * at + c] * cutout.data[4 * at + 3]) / 255),
        sigma,
      ),
    ),
  );

  // The shadow: the object's outline lying on the floor, to one side, softer with distance.
  const [slant, flatness, strength] = [1.2 * (random() - 0.5), 0.15 + 0.2 * random(), 0.3 + 0.4 * random()];
  const bottom = top + cutout.height;
  const cast = new Uint8Array(width * height);
  for (let y = Math.max(0, Math.floor(bottom - flatness * cutout.height)); y < Math.min(height, bottom + 4); y++) {
    const up = (bottom - y) / flatness;
    const sourceY = Math.round(bottom - 1 - up);
    for (let x = 0; x < width; x++) {
      const sourceX = Math.round(x - slant * up);
      if (sourceY >= top && sourceY < bottom && sourceX >= left && sourceX < left + cutout.width) {
        cast[y * width + x] = cutout.data[4 * ((sourceY - top) * cutout.width + sourceX - left) + 3];
      }
    }
  }
  const soft = await blur(cast, 0.012 * cutout.height + 2);
  const contact = await blur(cast, 0.05 * cutout.height + 2);

  const noise = 1 + 4 * random();
  const pixels = new Uint8Array(3 * width * height);
  for (let at = 0; at < width * height; at++) {
    const light = 1 - (strength * (0.6 * soft[at] + 0.4 * contact[at])) / 255;
    const grain = noise * (random() + random() + random() - 1.5);
    for (let c = 0; c < 3; c++) {
      const behind = scene[3 * at + c] * light * (1 - alpha[at] / 255);
      pixels[3 * at + c] = clampByte(premultiplied[c][at] + behind + grain);
    }
  }
  const jpeg = await sharp(pixels, { raw: { width, height, channels: 3 } })
    .jpeg({ quality: Math.round(78 + 15 * random()) })
    .toBuffer();
  return { jpeg, matte: { width, height, data: alpha } };
}

/** @param {Random} random */
function randomColor(random) {
  const gray = 50 + 180 * random();
  return [0, 1, 2].map(() => gray + 60 * (random() - 0.5));
}

/** @param {number} value */
const clampByte = (value) => Math.min(255, Math.max(0, Math.round(value)));
