import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));
export const gen3dBin = join(root, 'packages/cli/bin/gen3d.js');

/**
 * `require` as a package of this repository sees it: pnpm links a dependency only into the packages that declare it.
 *
 * @param {'cli' | 'engine' | 'server'} packageName
 */
export const requireFrom = (packageName) => createRequire(join(root, 'packages', packageName, 'package.json'));

/** The paths of all photos in examples/photos, sorted. */
export const demoPhotos = () =>
  readdirSync(join(root, 'examples/photos'))
    .filter((name) => /\.(jpe?g|png|webp)$/i.test(name))
    .sort()
    .map((name) => join(root, 'examples/photos', name));
