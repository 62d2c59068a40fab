import { stat } from 'node:fs/promises';
import { join } from 'node:path';
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
  if (!source.recipe && Object.values(checkpoint).some((value) => value !== undefined)) {
    throw new BundleError(
      `--precision and --from do not apply to ${source.manifest.name}, which is published as ONNX. Leave them out`,
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
  const [checkpoint, ...further] = manifest.files;
  return {
    manifest,
    fetched: manifest.files,
    requestFor,
    notice: undefined,
    recipe: {
      skeleton: parts,
      origin: {
        checkpoint: checkpoint!,
        ...(further.length > 0 && { furtherCheckpoints: further }),
        precision,
        skeleton: parts.digest,
      },
      copyFrom: from === undefined ? new Map() : await copiesIn(from, manifest.files, urls),
      rewrites: precision !== 'fp32' || skeleton.unaligned === true,
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
