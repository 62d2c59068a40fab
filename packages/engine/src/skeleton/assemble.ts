import { createHash } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CatalogueEntry } from '../bundle/catalogue.js';
import { sha256Of } from '../bundle/load-bundle.js';
import { type BundleFile, graphsOf, Manifest, type Origin, type Precision } from '../bundle/manifest.js';
import { readCheckpoint } from '../checkpoint/read-checkpoint.js';
import { type ConvertOptions, convertWeights, findWeights, needsConversion } from './convert-weights.js';
import { completeSkeleton, type MissingWeight, missingWeights } from './skeleton.js';

/** A bundle's graphs without their weights, and the text that travels with them. */
export interface Skeleton {
  /** By the names that the graphs have in the bundle. */
  readonly graphs: ReadonlyMap<string, Buffer>;
  readonly weights: readonly MissingWeight[];
  readonly notice: string;
  /** SHA-256 of all graphs, in hexadecimal. */
  readonly digest: string;
}

const convertedName = 'weights.bin';

/** Reads the graphs of a catalogue's skeleton. Those that exist as NAME-fp16.onnx are taken for that precision. */
export async function readSkeleton(
  { directory, manifest, skeleton }: CatalogueEntry & { skeleton: NonNullable<CatalogueEntry['skeleton']> },
  precision: Precision,
): Promise<Skeleton> {
  const folder = join(directory, skeleton.folder);
  const graphs = new Map<string, Buffer>();
  for (const { name } of graphsOf(manifest)) {
    const variant = join(folder, name.replace(/\.onnx$/, `-${precision}.onnx`));
    graphs.set(name, await readFile(variant).catch(() => readFile(join(folder, name))));
  }
  const hash = createHash('sha256');
  for (const bytes of graphs.values()) hash.update(bytes);
  return {
    graphs,
    weights: [...graphs.values()].flatMap(missingWeights),
    notice: await readFile(join(folder, skeleton.notice), 'utf8'),
    digest: hash.digest('hex'),
  };
}

/**
 * Completes a skeleton with the checkpoint in `folder` and writes the graphs, manifest.json and NOTICE.md there. The
 * graphs point into the checkpoint; only if it has another precision, or is not aligned, are its weights written anew.
 *
 * @returns whether the checkpoint is part of the bundle
 * @throws {BundleError} if the checkpoint cannot be used or has other shapes
 */
export async function assemble(
  folder: string,
  skeleton: Skeleton,
  manifest: CatalogueEntry['manifest'],
  origin: Origin,
  options?: ConvertOptions,
): Promise<{ readonly keepsCheckpoint: boolean }> {
  const checkpoint = join(folder, origin.checkpoint.name);
  const index = await readCheckpoint(checkpoint);
  findWeights(skeleton.weights, index);
  const converts = needsConversion(skeleton.weights, index);
  const location = converts ? convertedName : origin.checkpoint.name;
  const placed = converts
    ? await convertWeights(checkpoint, index, skeleton.weights, join(folder, location), options)
    : index;
  for (const [name, graph] of skeleton.graphs) {
    await writeFile(join(folder, name), completeSkeleton(graph, location, placed), { flush: true });
  }
  const graphs = await Promise.all([...skeleton.graphs.keys()].map((name) => describe(folder, name)));
  const weights = converts ? await describe(folder, location) : origin.checkpoint;
  const complete = Manifest.parse({ ...describeOrigin(manifest, origin), files: [...graphs, weights], origin });
  await writeFile(join(folder, 'manifest.json'), `${JSON.stringify(complete, null, 2)}\n`, { flush: true });
  await writeFile(join(folder, 'NOTICE.md'), skeleton.notice, { flush: true });
  return { keepsCheckpoint: !converts };
}

async function describe(folder: string, name: string): Promise<BundleFile> {
  const path = join(folder, name);
  return { name, size: (await stat(path)).size, sha256: await sha256Of(path) };
}

/** Other weights must not pass for the publisher's: the license and the title appear in `doctor` and in every GLB. */
function describeOrigin(manifest: CatalogueEntry['manifest'], { published, precision }: Origin) {
  const title = precision === 'fp32' ? manifest.title : `${manifest.title} (${precision})`;
  if (published) return { ...manifest, title };
  const weights = {
    licence: `unknown: not the published weights (${manifest.licence.weights.licence})`,
    source: 'a file that the operator supplied',
  };
  return { ...manifest, title: `${title} with other weights`, licence: { ...manifest.licence, weights } };
}
