// Images of 100 megapixels, in encodings that are cheap for the sender and expensive for the decoder.
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { requireFrom, root } from '../../../scripts/repository.mjs';

/** @type {typeof import('sharp').default} */
const sharp = requireFrom('engine')('sharp');

const side = 10_000;
/** @type {Record<string, (image: import('sharp').Sharp) => import('sharp').Sharp>} */
const encodings = {
  'interlaced-16-bit.png': (image) => image.toColourspace('rgb16').png({ progressive: true }),
  'progressive-444.jpg': (image) => image.jpeg({ progressive: true, chromaSubsampling: '4:4:4' }),
  'lossless.webp': (image) => image.webp({ lossless: true, effort: 0 }),
};

/** The bytes of each, by file name. Making them takes a minute, so they are kept for later runs. */
export async function largeImages() {
  const folder = join(root, 'node_modules/.cache/bench-hostile');
  mkdirSync(folder, { recursive: true });
  /** @type {Record<string, Buffer>} */
  const images = {};
  for (const [name, encode] of Object.entries(encodings)) {
    const path = join(folder, name);
    if (!existsSync(path)) {
      process.stderr.write(`Making ${name}, only this time\n`);
      // An object on a plain background: once decoded, the image also goes through an inference.
      const small = await sharp(join(root, 'examples/photos/toy-truck.png'))
        .flatten({ background: 'white' })
        .toBuffer();
      const large = sharp(small).resize(side, side, { fit: 'contain', background: 'white', kernel: 'nearest' });
      await encode(large).toFile(`${path}.part`);
      renameSync(`${path}.part`, path);
    }
    images[name] = readFileSync(path);
  }
  return images;
}

/** A photo of one megapixel in a file of nearly 4 MiB, which is as large as a request allows. */
export const noise = () =>
  sharp({
    create: {
      width: 1_150,
      height: 1_150,
      channels: 3,
      background: 'gray',
      noise: { type: 'gaussian', mean: 128, sigma: 60 },
    },
  })
    .jpeg({ quality: 100, chromaSubsampling: '4:4:4' })
    .toBuffer();
