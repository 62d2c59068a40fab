import { stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import {
  BundleError,
  type BundleFile,
  type ManifestWithoutGraphs,
  type Origin,
  type Precision,
  parseManifest,
  sha256Of,
} from '@gen3d/engine/bundles';
import { type Dispatcher, fetch } from 'undici';
import { type CatalogEntry, findInCatalogs } from './catalog.js';
import { readCheckpoint } from './checkpoint/read-checkpoint.js';
import { reason } from './download.js';
import { readSkeleton, type Skeleton } from './skeleton/assemble.js';

/** Says how to make a bundle of the catalog from its publisher's checkpoint. */
export interface CheckpointOptions {
  /** Default fp32: the checkpoint unchanged. */
  readonly precision?: Precision | undefined;
  /**
   * Another URL of the checkpoint, or the path of a copy of it. If there are several checkpoints: a folder that has them
   * at the publisher's paths. Default: the publisher's URLs.
   */
  readonly from?: string | undefined;
  /** Accepts a file at `from` that is not the published one if its tensors have the same names and shapes. */
  readonly allowOtherWeights?: boolean | undefined;
}

/** Describes where the parts of a bundle come from. */
export interface Source {
  readonly manifest: ManifestWithoutGraphs;
  readonly fetched: readonly BundleFile[];
  readonly requestFor: (file: string) => FileRequest;
  /** NOTICE.md, which has to be distributed with the weights. */
  readonly notice: string | undefined;
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

const isUrl = (text: string): boolean => /^https?:/i.test(text);

/**
 * @param from a name in a catalog of `modelDirs`, or the URL of a manifest.json or of its folder
 * @throws {BundleError} naming the URL, file or field that is wrong
 */
export async function findSource(
  from: string,
  modelDirs: readonly string[],
  checkpoint: CheckpointOptions = {},
  { dispatcher, signal }: { readonly dispatcher: Dispatcher; readonly signal: AbortSignal | undefined },
): Promise<Source> {
  const source = isUrl(from)
    ? await sourceAt(from, dispatcher, signal)
    : await sourceInCatalogs(from, modelDirs, checkpoint);
  if (!source.recipe && Object.values(checkpoint).some((value) => value !== undefined && value !== false)) {
    throw new BundleError(
      `--precision and --weights do not apply to ${source.manifest.name}, which is published as ONNX. Leave them out`,
    );
  }
  return source;
}

async function sourceInCatalogs(
  name: string,
  modelDirs: readonly string[],
  options: CheckpointOptions,
): Promise<Source> {
  const { manifest, urls, skeleton, directory } = await findInCatalogs(name, modelDirs);
  const requestFor = (file: string) => viaHub(new URL(urls[file]!));
  if (!skeleton) return { manifest, fetched: manifest.files, requestFor, notice: undefined };

  const { precision = 'fp32', from } = options;
  const parts = await readSkeleton(join(directory, skeleton.folder), manifest, skeleton.notice, precision);
  const url = from !== undefined && isUrl(from) ? new URL(from) : undefined;
  if (url && manifest.files.length > 1) {
    throw new BundleError(
      `${name} has ${manifest.files.length} checkpoints. Pass the folder that contains them, not a URL`,
    );
  }
  const paths = url || from === undefined ? [] : pathsIn(from, manifest.files, urls);
  const checkpoints: BundleFile[] = [];
  for (const [i, file] of manifest.files.entries()) checkpoints.push(await checkpointOf(file, i, options, paths[i]));
  const [checkpoint, ...further] = checkpoints;
  return {
    manifest,
    fetched: checkpoints,
    requestFor: url ? () => viaHub(url) : requestFor,
    notice: undefined,
    recipe: {
      skeleton: parts,
      origin: {
        checkpoint: checkpoint!,
        ...(further.length > 0 && { furtherCheckpoints: further }),
        published: checkpoints.every((file, i) => file === manifest.files[i]),
        precision,
        skeleton: parts.digest,
      },
      copyFrom: new Map(checkpoints.flatMap(({ name }, i) => (paths[i] === undefined ? [] : [[name, paths[i]]]))),
      rewrites: precision !== 'fp32' || skeleton.unaligned === true,
      needs: skeleton,
    },
  };
}

/** Returns the paths of local copies of the checkpoints: `from` itself, or if there are several, the files in it. */
function pathsIn(from: string, files: readonly BundleFile[], urls: Readonly<Record<string, string>>): string[] {
  if (files.length === 1) return [from];
  // https://huggingface.co/OWNER/NAME/resolve/COMMIT/PATH
  return files.map(({ name }) => join(from, urls[name]!.replace(/^.*\/resolve\/[^/]+\//, '')));
}

/** Chooses the checkpoint: the published one, or another one if it is given and allowed. */
async function checkpointOf(
  published: BundleFile,
  position: number,
  { allowOtherWeights = false }: CheckpointOptions,
  path: string | undefined,
): Promise<BundleFile> {
  if (path === undefined) {
    if (!allowOtherWeights) return published;
    throw new BundleError('Other weights must be in a file on this machine: give its path');
  }
  const found = await stat(path).catch((cause: unknown) => {
    throw new BundleError(`${path} cannot be read: ${reason(cause)}`, { cause });
  });
  if (!found.isFile()) throw new BundleError(`${path} is not a file`);
  if (found.size !== published.size && !allowOtherWeights) {
    throw new BundleError(`${path} is not the published file: it has ${found.size} bytes, expected ${published.size}`);
  }
  const sha256 = await sha256Of(path);
  if (sha256 === published.sha256) return published;
  if (!allowOtherWeights) {
    throw new BundleError(`${path} is not the published file: SHA-256 ${sha256}, expected ${published.sha256}`);
  }
  // Refuses a file that is not a checkpoint before gigabytes are copied, and names it as the user did.
  await readCheckpoint(path);
  // Its own name could be that of another file of the bundle.
  const name = `checkpoint${position || ''}${/^\.[a-z]+$/.test(extname(path)) ? extname(path) : ''}`;
  return { name, size: found.size, sha256 };
}

async function sourceAt(address: string, dispatcher: Dispatcher, signal?: AbortSignal): Promise<Source> {
  if (!URL.canParse(address)) throw new BundleError(`${address} is not a valid URL`);
  const url = new URL(address);
  if (!url.pathname.endsWith('.json')) url.pathname = url.pathname.replace(/\/?$/, '/manifest.json');
  // The query may be the key to all files.
  const urlOf = (file: string) => Object.assign(new URL(file, url), { search: url.search });
  const text = await fetchText(url, dispatcher, signal);
  if (text === undefined) throw new BundleError(`${url} cannot be fetched: the server responded with 404`);
  const notice = await fetchText(urlOf('NOTICE.md'), dispatcher, signal);
  const manifest = parseManifest(text, url.href);
  if (manifest.kind === 'http') {
    throw new BundleError(
      `${url.href} names a model server, to which gen3d would send photos. If you trust it, copy the manifest into a folder, and choose that with \`gen3d models use ./FOLDER\``,
    );
  }
  return { manifest, fetched: manifest.files, requestFor: (file) => ({ url: urlOf(file) }), notice };
}

/** Maximum length of a manifest or notice, in characters. */
const maxTextLength = 1024 * 1024;

/** @returns undefined on 404. @throws {BundleError} on any other failure */
async function fetchText(url: URL, dispatcher: Dispatcher, signal?: AbortSignal): Promise<string | undefined> {
  try {
    const response = await fetch(url, { dispatcher, signal: signal ?? null });
    if (!response.ok) {
      // undici 7 can end the process if a connection closes while its response is unread.
      await response.body?.cancel();
      if (response.status === 404) return undefined;
      throw new Error(`the server responded with ${response.status}`);
    }
    let text = '';
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece;
      if (text.length > maxTextLength) throw new Error('it is too long for a manifest or a notice');
    }
    return text;
  } catch (cause) {
    signal?.throwIfAborted();
    throw new BundleError(`${url} cannot be fetched: ${reason(cause)}`, { cause });
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
