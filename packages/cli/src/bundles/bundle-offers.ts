import type { InstalledBundle } from '@gen3d/engine/bundles';
import type { Config } from '@gen3d/server';
import type { CatalogEntry } from '@gen3d/weights/offers';
import { bytes, duration } from '../terminal/format.js';
import { nextCommand } from '../terminal/next-command.js';

/** Describes each reconstruction bundle that can be pulled, in one line: command, requirements and license. */
export async function bundleOffers(config: Pick<Config, 'dataDir' | 'modelsDir'>): Promise<string[]> {
  const { findBundle } = await import('@gen3d/engine');
  const { modelDirs, sizeOf } = await import('@gen3d/engine/bundles');
  const { readCatalogs } = await import('@gen3d/weights/offers');
  const directories = modelDirs(config);
  const lines: string[] = [];
  for (const entry of await readCatalogs(directories)) {
    const { manifest, skeleton } = entry;
    const { name, title, kind, license } = manifest;
    if (kind !== 'reconstruction' || (await findBundle(name, directories).catch(() => undefined))) continue;
    lines.push(
      `\`${nextCommand(`models pull ${name}`)}\` adds ${title}, a larger bundle: ${bytes(sizeOf({ manifest }))} of disk${memoryOf(skeleton)}, ${license.weights.license}${await timeOf(entry)}`,
    );
  }
  return lines;
}

/** Names the next better bundle for this machine in a sentence. Undefined if it has it. */
export async function recommendation(
  config: Pick<Config, 'dataDir' | 'modelsDir'>,
  hasGpu: boolean,
): Promise<string | undefined> {
  const { modelDirs, sizeOf } = await import('@gen3d/engine/bundles');
  const { betterBundle } = await import('@gen3d/weights/offers');
  const better = await betterBundle(modelDirs(config), hasGpu);
  if (!better) return undefined;
  const { name, license } = better.manifest;
  const precision = better.precision ? ` --precision ${better.precision}` : '';
  const time = hasGpu ? '' : await timeOf(better);
  const command = nextCommand(`models pull ${name}${precision}`);
  return `For better shapes: \`${command}\` (${bytes(sizeOf(better))}, ${license.weights.license}${time})`;
}

async function timeOf(entry: CatalogEntry): Promise<string> {
  const { measuredSpeed } = await import('@gen3d/engine/bundles');
  const { cpuSeconds } = await import('@gen3d/weights/offers');
  const seconds = await cpuSeconds(entry);
  if (seconds === undefined) return '';
  const gigaflops = Math.round((await measuredSpeed()) / 1e9);
  return `, about ${duration(1000 * Math.ceil(seconds), 0)} a photo at the ${gigaflops} GFLOP/s that this CPU has to spare now`;
}

function memoryOf(skeleton: CatalogEntry['skeleton']): string {
  if (!skeleton) return '';
  const { memory, gpuMemory } = skeleton;
  if (!gpuMemory) {
    const smaller = memory.int8 === undefined ? '' : ` (${bytes(memory.int8)} with \`--precision int8\`)`;
    return `, ${bytes(memory.fp32)} of memory${smaller}`;
  }
  return `, a GPU with ${bytes(gpuMemory.fp32)} of memory (${bytes(gpuMemory.fp16)} with \`--precision fp16\`)`;
}

/** Describes a bundle in the `--json` output of `models` and `doctor`. */
export async function describeBundle(installed: InstalledBundle): Promise<object> {
  const { name, directory } = installed;
  if ('problem' in installed) return { name, directory, problem: installed.problem };
  const { sizeOf } = await import('@gen3d/engine/bundles');
  const { kind, title, license } = installed.bundle.manifest;
  return { name, directory, kind, title, bytes: sizeOf(installed.bundle), license, notice: installed.notice };
}
