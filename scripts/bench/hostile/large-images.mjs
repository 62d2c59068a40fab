// Images of 100 megapixels in the encodings that cost a decoder the most, and the sender the least.
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { requireFrom, root } from '../../repository.mjs';

const sharp = requireFrom('engine')('sharp');

const side = 10_000;
const encodings = {
  'interlaced-16-bit.png': (image) => image.toColourspace('rgb16').png({ progressive: true }),
  'progressive-444.jpg': (image) => image.jpeg({ progressive: true, chromaSubsampling: '4:4:4' }),
  'lossless.webp': (image) => image.webp({ lossless: true, effort: 0 }),
};

/** The bytes of each, by file name. They take a minute to make, so they are kept for the next run. */
export async function largeImages() {
  const folder = join(root, 'node_modules/.cache/bench-hostile');
  mkdirSync(folder, { recursive: true });
  const images = {};
  for (const [name, encode] of Object.entries(encodings)) {
    const path = join(folder, name);
    if (!existsSync(path)) {
      process.stderr.write(`Making ${name}, once\n`);
      // An object on a plain background, so that an image that is decoded also goes through an inference.
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
