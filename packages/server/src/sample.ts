import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AssetKeys, AssetStore } from './assets/store.js';

/** The same place seen from `src/` and from `dist/`. */
const shippedSample = fileURLToPath(new URL('../sample', import.meta.url));

/** Puts the sample of the public test key among the assets. Undefined when `folder` does not hold one. */
export async function installSample(assets: AssetStore, folder = shippedSample): Promise<AssetKeys | undefined> {
  const model = join(folder, 'model.glb');
  const thumbnail = join(folder, 'thumbnail.jpg');
  if (!existsSync(model) || !existsSync(thumbnail)) return undefined;
  return assets.putSample(await readFile(model), await readFile(thumbnail));
}
