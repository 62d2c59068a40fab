import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { AssetKeys, AssetStore } from './assets/store.js';

/** The same place seen from `src/` and from `dist/`. */
const shipped = {
  model: fileURLToPath(new URL('../sample/model.glb', import.meta.url)),
  thumbnail: fileURLToPath(new URL('../sample/thumbnail.jpg', import.meta.url)),
};

/** Puts the sample model of the public test key among the assets. Undefined when this build carries none. */
export async function installSample(assets: AssetStore): Promise<AssetKeys | undefined> {
  if (!existsSync(shipped.model) || !existsSync(shipped.thumbnail)) return undefined;
  return assets.putSample(await readFile(shipped.model), await readFile(shipped.thumbnail));
}
