import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { AssetKeys, AssetStore } from './asset-store.js';

/** The package's name finds the same folder from the built package and from the sources. */
const shippedSample = join(dirname(createRequire(import.meta.url).resolve('@gen3d/server/package.json')), 'sample');

/** Stores the sample of the public test key among the assets. Undefined if `folder` does not contain one. */
export async function installSample(assets: AssetStore, folder = shippedSample): Promise<AssetKeys | undefined> {
  const model = join(folder, 'model.glb');
  const thumbnail = join(folder, 'thumbnail.jpg');
  if (!existsSync(model) || !existsSync(thumbnail)) return undefined;
  return assets.putSample(await readFile(model), await readFile(thumbnail));
}
