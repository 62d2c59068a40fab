import { findBundle, type Precision } from '@gen3d/engine/bundles';
import { type CatalogEntry, readCatalogs, type Skeleton } from './catalog.js';
import { cpuMemory, installedMemory } from './gpu-requirement.js';

/** A bundle to recommend, and the precision to pull it in, unless the usual one fits. */
export type BetterBundle = CatalogEntry & { readonly precision?: 'int8' };

/**
 * Recommends a bundle for better shapes. The catalogs list bundles from the worst to the best, so this is the last one
 * that this machine can run and does not have. Undefined if there is none.
 *
 * @param hasGpu whether the networks run on a GPU here
 */
export async function betterBundle(
  modelDirs: readonly string[],
  hasGpu: boolean,
  memory = installedMemory(),
): Promise<BetterBundle | undefined> {
  const fits = (skeleton: Skeleton | undefined, precision: Precision) =>
    !skeleton || (skeleton.gpuMemory ? hasGpu : cpuMemory(skeleton, precision) <= memory);
  for (const entry of (await readCatalogs(modelDirs)).reverse()) {
    const { manifest, skeleton } = entry;
    if (manifest.kind !== 'reconstruction' || !fits(skeleton, 'int8')) continue;
    const isInstalled = await findBundle(manifest.name, modelDirs).then(
      () => true,
      () => false,
    );
    if (!isInstalled) return fits(skeleton, 'fp32') ? entry : { ...entry, precision: 'int8' };
  }
  return undefined;
}
