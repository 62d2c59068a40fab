import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../examples/photos', import.meta.url));

/** The paths of every photo in examples/photos. */
export const demoPhotos = () =>
  readdirSync(folder)
    .filter((name) => /\.(jpe?g|png|webp)$/i.test(name))
    .sort()
    .map((name) => join(folder, name));
