import { totalmem } from 'node:os';
import type { Device } from '@gen3d/engine';
import { findBundle, type ManifestWithoutGraphs, type Precision } from '@gen3d/engine/bundles';
import { type CatalogEntry, cpuSeconds, readCatalogs, type Skeleton } from './catalog.js';

/** Computes the bytes of memory a network takes on a CPU. Half precision saves none there, because it is converted. */
export const cpuMemory = ({ memory }: Pick<Skeleton, 'memory'>, precision: Precision): number =>
  (precision === 'int8' ? memory.int8 : undefined) ?? memory.fp32;

/**
 * Says why this machine cannot run a bundle that needs a GPU, and what to do. Undefined if it can, or if the bundle
 * needs no GPU. Accepts the CPU only if it is named.
 */
export async function requirementProblem(
  manifest: ManifestWithoutGraphs,
  skeleton: Skeleton,
  { device, precision }: { readonly device: Device; readonly precision: Precision },
): Promise<string | undefined> {
  const needs = skeleton.gpuMemory;
  if (!needs) return undefined;
  const { title } = manifest;
  if (device === 'cpu') {
    const installed = installedMemory();
    const memory = cpuMemory(skeleton, precision);
    if (installed >= memory) return undefined;
    return `${title} takes about ${gigabytes(memory)} of memory on a CPU, and this machine has ${gigabytes(installed)}`;
  }
  // Loaded only here, because it loads onnxruntime.
  const { accelerators, findAdapter } = await import('@gen3d/engine');
  for (const provider of device === 'auto' ? accelerators : [device]) {
    const found = await findAdapter(provider);
    if (!('problem' in found)) return tooSmall(title, needs, precision, found.adapter.name);
  }
  return `${title} needs a GPU with ${gigabytes(needs.fp16)} of memory (fp16) or ${gigabytes(needs.fp32)} (fp32), and none can be used here${onTheCpu(await cpuSeconds({ manifest, skeleton }))}`;
}

async function tooSmall(
  title: string,
  needs: NonNullable<Skeleton['gpuMemory']>,
  precision: Precision,
  adapter: string,
): Promise<string | undefined> {
  const { gpuMemory } = await import('@gen3d/engine');
  const available = await gpuMemory();
  const needed = needs[precision] ?? needs.fp32;
  if (available === undefined || available >= needed) return undefined;
  const smaller = precision === 'fp32' && available >= needs.fp16 ? '. `--precision fp16` fits' : '';
  return `${title} takes about ${gigabytes(needed)} of GPU memory in ${precision}, and ${adapter} has ${gigabytes(available)}${smaller}`;
}

function onTheCpu(seconds: number | undefined): string {
  if (seconds === undefined) return '';
  const minutes = Math.ceil(seconds / 60);
  return `. With what this CPU has to spare now, a photo would take about ${minutes} minutes. To run it anyway, set GEN3D_DEVICE=cpu`;
}

/** Returns the memory of this machine, or of its container, in bytes. */
const installedMemory = () => Math.min(totalmem(), process.constrainedMemory() || totalmem());

const gigabytes = (count: number) => `${(count / 1e9).toFixed(1)} GB`;

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
