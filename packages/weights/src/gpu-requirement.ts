import { totalmem } from 'node:os';
import type { Device } from '@gen3d/engine';
import { cpuSeconds, type ManifestWithoutGraphs, type Precision } from '@gen3d/engine/bundles';
import type { CatalogEntry } from './catalog.js';

type Skeleton = Pick<NonNullable<CatalogEntry['skeleton']>, 'memory' | 'gpuMemory'>;

/**
 * Why this machine cannot run a bundle that needs a GPU, and what to do. Undefined if it can, or if the bundle needs
 * no GPU. The CPU is accepted only if it is named.
 */
export async function whyNotHere(
  manifest: ManifestWithoutGraphs,
  { memory, gpuMemory: needs }: Skeleton,
  { device, precision }: { readonly device: Device; readonly precision: Precision },
): Promise<string | undefined> {
  if (!needs) return undefined;
  const { title } = manifest;
  if (device === 'cpu') {
    const installed = Math.min(totalmem(), process.constrainedMemory() || totalmem());
    if (installed >= memory) return undefined;
    return `${title} takes about ${gigabytes(memory)} of memory on a CPU, and this machine has ${gigabytes(installed)}`;
  }
  // Loaded only here, because it loads onnxruntime.
  const { accelerators, findAdapter } = await import('@gen3d/engine');
  for (const provider of device === 'auto' ? accelerators : [device]) {
    const found = await findAdapter(provider);
    if (!('problem' in found)) return tooSmall(title, needs, precision, found.adapter.name);
  }
  return `${title} needs a GPU with ${gigabytes(needs.fp16)} of memory (fp16) or ${gigabytes(needs.fp32)} (fp32), and none can be used here${onTheCpu(manifest)}`;
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

function onTheCpu(manifest: ManifestWithoutGraphs): string {
  if (manifest.kind !== 'reconstruction' || manifest.decoder.kind !== 'steps') return '';
  const minutes = Math.ceil(cpuSeconds(manifest.decoder) / 60);
  return `. On this CPU, a photo would take about ${minutes} minutes. To run it anyway, set GEN3D_DEVICE=cpu`;
}

const gigabytes = (count: number) => `${(count / 1e9).toFixed(1)} GB`;
