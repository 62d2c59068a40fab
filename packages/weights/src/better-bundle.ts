import { totalmem } from 'node:os';
import { cpuSeconds, findBundle, secondsOfFlops } from '@gen3d/engine/bundles';
import { type CatalogEntry, readCatalogs } from './catalog.js';

/**
 * Estimates the seconds that a photo takes on this CPU with a bundle of the catalog, to within a factor of two or three.
 * Undefined if the catalog does not state its operations.
 */
export function estimatedCpuSeconds({ manifest, skeleton }: CatalogEntry): number | undefined {
  if (manifest.kind === 'reconstruction' && manifest.decoder.kind === 'steps') return cpuSeconds(manifest.decoder);
  return skeleton?.flops && secondsOfFlops(skeleton.flops);
}

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
    const canRun = skeleton?.gpuMemory ? hasGpu : (skeleton?.memory ?? 0) <= memory;
    if (manifest.kind === 'reconstruction' && !isInstalled && canRun) suitable.push(entry);
  }
  return suitable.at(-1);
}
