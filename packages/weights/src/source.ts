import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  BundleError,
  type BundleFile,
  type ManifestWithoutGraphs,
  type Origin,
  type Precision,
  sha256Of,
} from '@gen3d/engine/bundles';
import { type CatalogEntry, findInCatalogs } from './catalog.js';
import { reason } from './download.js';
import { readSkeleton, type Skeleton } from './skeleton/assemble.js';

/** Says how to make a bundle of the catalog from its publisher's checkpoint. */
export interface CheckpointOptions {
  /** Default fp32: the checkpoint unchanged. */
  readonly precision?: Precision | undefined;
  /**
   * The path of a copy of the checkpoint. If there are several checkpoints: a folder that has them at the publisher's
   * paths. Default: the publisher's URLs.
   */
  readonly from?: string | undefined;
}

/** Describes where the files of a bundle come from. */
export interface Source {
  readonly manifest: ManifestWithoutGraphs;
  readonly requestFor: (file: string) => FileRequest;
  readonly recipe?: Recipe;
}

export interface FileRequest {
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Describes how a fetched checkpoint becomes a bundle. */
export interface Recipe {
  readonly skeleton: Skeleton;
  readonly origin: Origin;
  /** Files on this machine that are copied instead of fetched, by their names in the bundle. */
  readonly copyFrom: ReadonlyMap<string, string>;
  /** Whether the weights are written to new files, as far as is known before the download. */
  readonly rewrites: boolean;
  /** Bytes of memory while the network runs. */
  readonly needs: NonNullable<CatalogEntry['skeleton']>;
}

/**
 * @param name of a bundle in a catalog of `modelDirs`
 * @throws {BundleError} naming the file or field that is wrong
 */
export async function findSource(
  name: string,
  modelDirs: readonly string[],
  { precision, from }: CheckpointOptions = {},
): Promise<Source> {
  const { manifest, urls, skeleton, directory } = await findInCatalogs(name, modelDirs);
  const requestFor = (file: string) => viaHub(new URL(urls[file]!));
  if (!skeleton) {
    if (precision === undefined && from === undefined) return { manifest, requestFor };
    throw new BundleError(`--precision and --from do not apply to ${name}, which is published as ONNX. Leave them out`);
  }
  const parts = await readSkeleton(join(directory, skeleton.folder), manifest, skeleton.notice, precision ?? 'fp32');
  const [checkpoint, ...further] = manifest.files;
  return {
    manifest,
    requestFor,
    recipe: {
      skeleton: parts,
      origin: {
        checkpoint: checkpoint!,
        ...(further.length > 0 && { furtherCheckpoints: further }),
        precision: precision ?? 'fp32',
        skeleton: parts.digest,
      },
      copyFrom: from === undefined ? new Map() : await copiesIn(from, manifest.files, urls),
      rewrites: precision === 'fp16' || skeleton.unaligned === true,
      needs: skeleton,
    },
  };
}

/**
 * Returns the paths of local copies of the checkpoints, by their names: `from` itself, or if there are several, the
 * files in it.
 *
 * @throws {BundleError} if one is not the published file
 */
async function copiesIn(
  from: string,
  files: readonly BundleFile[],
  urls: Readonly<Record<string, string>>,
): Promise<Map<string, string>> {
  const copies = new Map<string, string>();
  for (const file of files) {
    // https://huggingface.co/OWNER/NAME/resolve/COMMIT/PATH
    const path = files.length === 1 ? from : join(from, urls[file.name]!.replace(/^.*\/resolve\/[^/]+\//, ''));
    await requirePublished(path, file);
    copies.set(file.name, path);
  }
  return copies;
}

async function requirePublished(path: string, { size, sha256 }: BundleFile): Promise<void> {
  const found = await stat(path).catch((cause: unknown) => {
    throw new BundleError(`${path} cannot be read: ${reason(cause)}`, { cause });
  });
  if (!found.isFile()) throw new BundleError(`${path} is not a file`);
  if (found.size !== size) {
    throw new BundleError(`${path} is not the published file: it has ${found.size} bytes, expected ${size}`);
  }
  const actual = await sha256Of(path);
  if (actual !== sha256) {
    throw new BundleError(`${path} is not the published file: SHA-256 ${actual}, expected ${sha256}`);
  }
}

const hub = 'https://huggingface.co';

/**
 * Returns the URL and headers to request a file with. As in the tools of Hugging Face, HF_ENDPOINT replaces its URL by
 * a mirror's, and HF_TOKEN is sent there.
 */
export function viaHub(
  url: URL,
  { HF_ENDPOINT, HF_TOKEN }: Readonly<Record<string, string | undefined>> = process.env,
): Required<FileRequest> {
  if (url.origin !== hub) return { url, headers: {} };
  const endpoint = (HF_ENDPOINT || hub).replace(/\/+$/, '');
  return {
    url: new URL(endpoint + url.pathname + url.search),
    headers: HF_TOKEN ? { authorization: `Bearer ${HF_TOKEN}` } : {},
  };
}
