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

/** Exits with one sentence on an old Node, which would otherwise fail with unrelated errors of the tools. */
export function requireNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  console.error(`gen3d requires Node 20.19 or later, and this is ${process.version}. Get it from https://nodejs.org`);
  process.exit(1);
}
