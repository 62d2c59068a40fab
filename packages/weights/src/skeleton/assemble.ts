import { createHash } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  BundleError,
  type BundleFile,
  graphsOf,
  Manifest,
  type ManifestWithoutGraphs,
  type Origin,
  type Precision,
  sha256Of,
} from '@gen3d/engine/bundles';
import { readCheckpoint } from '../checkpoint/read-checkpoint.js';
import { itemSizes } from '../checkpoint/tensor-record.js';
import { type ConvertOptions, convertWeights, needsConversion } from './convert-weights.js';
import { completeSkeleton, type MissingWeight, missingWeights } from './skeleton.js';

/** A bundle's graphs without weights, and the text that is distributed with them. */
export interface Skeleton {
  /** The graphs by their file names in the bundle. */
  readonly graphs: ReadonlyMap<string, Buffer>;
  readonly weights: readonly MissingWeight[];
  readonly notice: string;
  /** SHA-256 of all graphs, in hexadecimal. */
  readonly digest: string;
}

/**
 * Reads the graphs of a skeleton. NAME-PRECISION.onnx is used instead of NAME.onnx if it exists.
 *
 * @param notice the name of the text in `folder` that becomes the bundle's NOTICE.md
 * @throws {BundleError} if no graph exists in `precision`
 */
export async function readSkeleton(
  folder: string,
  manifest: ManifestWithoutGraphs,
  notice: string,
  precision: Precision,
): Promise<Skeleton> {
  const graphs = new Map<string, Buffer>();
  let hasPrecision = precision === 'fp32';
  for (const { name } of graphsOf(manifest)) {
    const variant = await readFile(join(folder, name.replace(/\.onnx$/, `-${precision}.onnx`))).catch(() => undefined);
    hasPrecision ||= variant !== undefined;
    graphs.set(name, variant ?? (await readFile(join(folder, name))));
  }
  if (!hasPrecision) {
    throw new BundleError(`${manifest.title} is not available in ${precision}. Pull it without --precision`);
  }
  const hash = createHash('sha256');
  for (const bytes of graphs.values()) hash.update(bytes);
  return {
    graphs,
    weights: [...graphs.values()].flatMap(missingWeights),
    notice: await readFile(join(folder, notice), 'utf8'),
    digest: hash.digest('hex'),
  };
}

export const weightBytes = ({ weights }: Skeleton): number =>
  weights.reduce((sum, { dtype, shape }) => sum + shape.reduce((product, size) => product * size, itemSizes[dtype]), 0);

/**
 * Completes a skeleton with the checkpoints in `folder` and writes the graphs, manifest.json and NOTICE.md there. The
 * graphs refer to the checkpoints. If one has another precision or is not aligned, its weights are written to a new
 * file.
 *
 * @param manifest its files are the published checkpoints
 * @returns the names of the checkpoints that are not part of the bundle
 * @throws {BundleError} if a checkpoint cannot be used or has other shapes
 */
export async function assemble(
  folder: string,
  skeleton: Skeleton,
  manifest: ManifestWithoutGraphs,
  origin: Origin,
  options?: ConvertOptions,
): Promise<{ readonly unused: readonly string[] }> {
  const parts = partsOf(skeleton, manifest);
  const total = parts.reduce((sum, { checkpoint }) => sum + checkpoint.size, 0);
  const files: BundleFile[] = [];
  const unused: string[] = [];
  let before = 0;
  for (const { checkpoint, convertedName, graphs } of parts) {
    const base = before;
    const index = await readCheckpoint(join(folder, checkpoint.name));
    const weights = [...graphs.values()].flatMap(missingWeights);
    const converts = needsConversion(weights, index);
    const location = converts ? convertedName : checkpoint.name;
    const onProgress = (fraction: number) => options?.onProgress?.((base + fraction * checkpoint.size) / total);
    const stored = converts
      ? await convertWeights(join(folder, checkpoint.name), index, weights, join(folder, location), {
          ...options,
          onProgress,
        })
      : index;
    for (const [name, graph] of graphs) {
      await writeFile(join(folder, name), completeSkeleton(graph, location, stored), { flush: true });
      files.push(await describe(folder, name));
    }
    files.push(converts ? await describe(folder, location) : checkpoint);
    if (converts) unused.push(checkpoint.name);
    before += checkpoint.size;
  }
  const title = origin.precision === 'fp32' ? manifest.title : `${manifest.title} (${origin.precision})`;
  const complete = Manifest.parse({ ...manifest, title, files, origin });
  await writeFile(join(folder, 'manifest.json'), `${JSON.stringify(complete, null, 2)}\n`, { flush: true });
  await writeFile(join(folder, 'NOTICE.md'), skeleton.notice, { flush: true });
  return { unused };
}

/** A checkpoint, and the graphs that take their weights from it. */
interface Part {
  readonly checkpoint: BundleFile;
  /** Converted weights are written to a file of this name. */
  readonly convertedName: string;
  readonly graphs: ReadonlyMap<string, Buffer>;
}

function partsOf({ graphs }: Skeleton, { files }: ManifestWithoutGraphs): Part[] {
  if (files.length === 1) return [{ checkpoint: files[0]!, convertedName: 'weights.bin', graphs }];
  return files.map((checkpoint) => ({
    checkpoint,
    convertedName: checkpoint.name.replace(/\.[^.]*$/, '.bin'),
    graphs: new Map([...graphs].filter(([, graph]) => missingWeights(graph)[0]?.checkpoint === checkpoint.name)),
  }));
}

async function describe(folder: string, name: string): Promise<BundleFile> {
  const path = join(folder, name);
  return { name, size: (await stat(path)).size, sha256: await sha256Of(path) };
}
