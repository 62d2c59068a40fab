import type { Config } from '@gen3d/server';
import { bytes } from '../terminal/format.js';
import { sizeOf } from './installed-bundles.js';

/** One line for each reconstruction model of a catalog that is not on this machine: its command and what it costs. */
export async function offers(config: Pick<Config, 'dataDir' | 'modelsDir'>): Promise<string[]> {
  const { findBundle } = await import('@gen3d/engine');
  const { modelDirs, readCatalogs } = await import('@gen3d/server');
  const dirs = modelDirs(config);
  const lines: string[] = [];
  for (const { manifest, skeleton } of await readCatalogs(dirs)) {
    const { name, title, kind, licence } = manifest;
    if (kind !== 'reconstruction' || (await isInstalled(name))) continue;
    const memory = skeleton ? `, ${bytes(skeleton.memory)} of memory` : '';
    lines.push(
      `\`gen3d models pull ${name}\` adds ${title}, a larger model: ${bytes(sizeOf({ manifest }))} of disk${memory}, ${licence.weights.licence}`,
    );
  }
  return lines;

  function isInstalled(name: string): Promise<boolean> {
    return findBundle(name, dirs).then(
      () => true,
      () => false,
    );
  }
}
