import { totalmem } from 'node:os';
import { findBundle } from '@gen3d/engine/bundles';
import { type CatalogEntry, readCatalogs } from './catalog.js';

/**
 * The bundle to recommend to somebody who wants better shapes: the last one of the catalogs, which are in the order of
 * quality, that this machine can run and does not have. Undefined if there is none.
 *
 * @param hasGpu whether the networks run on a GPU here
 */
export async function betterBundle(modelDirs: readonly string[], hasGpu: boolean): Promise<CatalogEntry | undefined> {
  const memory = Math.min(totalmem(), process.constrainedMemory() || totalmem());
  const suitable: CatalogEntry[] = [];
  for (const entry of await readCatalogs(modelDirs)) {
    const { manifest, skeleton } = entry;
    const isInstalled = await findBundle(manifest.name, modelDirs).then(
      () => true,
      () => false,
    );
    const canRun = skeleton?.gpuMemory ? hasGpu : (skeleton?.memory.fp32 ?? 0) <= memory;
    if (manifest.kind === 'reconstruction' && !isInstalled && canRun) suitable.push(entry);
  }
  return suitable.at(-1);
}
