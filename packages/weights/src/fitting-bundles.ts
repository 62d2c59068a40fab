import { totalmem } from 'node:os';
import type { Device } from '@gen3d/engine';
import { assumedSpeed, flopsOf, type ManifestWithoutGraphs, type Precision } from '@gen3d/engine/bundles';
import type { Skeleton } from './catalog.js';

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
    // In every precision, because half precision is converted on a CPU.
    if (installed >= skeleton.memory) return undefined;
    return `${title} takes about ${gigabytes(skeleton.memory)} of memory on a CPU, and this machine has ${gigabytes(installed)}`;
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
  const needed = needs[precision];
  if (available === undefined || available >= needed) return undefined;
  const smaller = precision === 'fp32' && available >= needs.fp16 ? '. `--precision fp16` fits' : '';
  return `${title} takes about ${gigabytes(needed)} of GPU memory in ${precision}, and ${adapter} has ${gigabytes(available)}${smaller}`;
}

function onTheCpu(manifest: ManifestWithoutGraphs): string {
  if (manifest.kind !== 'reconstruction' || manifest.decoder.kind !== 'steps') return '';
  const minutes = Math.ceil(flopsOf(manifest.decoder) / assumedSpeed() / 60);
  return `. With this CPU, a photo would take about ${minutes} minutes. To run it anyway, set GEN3D_DEVICE=cpu`;
}

/** Returns the memory of this machine, or of its container, in bytes. */
const installedMemory = () => Math.min(totalmem(), process.constrainedMemory() || totalmem());

const gigabytes = (count: number) => `${(count / 1e9).toFixed(1)} GB`;
