import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, parse } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));
export const gen3dBin = join(root, 'packages/cli/bin/gen3d.js');

/**
 * `require` as a package of this repository sees it: pnpm links a dependency only into the packages that declare it.
 *
 * @param {'cli' | 'engine' | 'server'} packageName
 */
export const requireFrom = (packageName) => createRequire(join(root, 'packages', packageName, 'package.json'));

const photos = join(root, 'examples/photos');

/** The paths of all photos in examples/photos that show one side of an object, sorted. */
export function demoPhotos() {
  const names = readdirSync(photos).filter((name) => /\.(jpe?g|png|webp)$/i.test(name));
  const fronts = new Set(names.flatMap((name) => /^(.+)\.(left|back|right)\.\w+$/i.exec(name)?.[1] ?? []));
  const single = names.filter((name) => !fronts.has(parse(name).name.replace(/\.(left|back|right)$/i, '')));
  return single.sort().map((name) => join(photos, name));
}

/**
 * The paths of the photos of one object from four sides.
 *
 * @param {string} name such as `wooden-truck`
 */
export function demoSides(name) {
  const [left, back, right] = ['left', 'back', 'right'].map((side) => join(photos, `${name}.${side}.jpg`));
  return { front: join(photos, `${name}.jpg`), others: { left, back, right } };
}

/** Exits with one sentence on an old Node, which would otherwise fail with unrelated errors of the tools. */
export function requireNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  console.error(`gen3d requires Node 20.19 or later, and this is ${process.version}. Get it from https://nodejs.org`);
  process.exit(1);
}
