import { randomBytes } from 'node:crypto';
import {
  constants,
  copyFile,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  statfs,
  writeFile,
} from 'node:fs/promises';
import { extname, join } from 'node:path';
import { type Dispatcher, EnvHttpProxyAgent, fetch } from 'undici';
import { BundleError } from '../base/errors.js';
import { itemSizes } from '../checkpoint/tensor-record.js';
import { assemble, readSkeleton, type Skeleton } from '../skeleton/assemble.js';
import { type CatalogueEntry, findInCatalogue } from './catalogue.js';
import { download, isDiskFull, reason } from './download.js';
import { viaHub } from './hub.js';
import { type Bundle, loadBundle, parseManifest, sha256Of, verifyBundle } from './load-bundle.js';
import type { BundleFile, Origin, Precision } from './manifest.js';

export interface PullOptions {
  /** The folder that gets the bundle, as a folder of its name. Made if it is missing. */
  readonly directory: string;
  /** All folders with bundles, `directory` among them, in the order in which they are searched. */
  readonly modelDirs: readonly string[];
  /** Looks at the whole bundle before it takes its place; throws what is wrong with it. */
  readonly check: (bundle: Bundle) => Promise<void>;
  /** Called once before anything is fetched. */
  readonly onStart?: (requirements: PullRequirements) => void;
  readonly onProgress?: (progress: PullProgress) => void;
  readonly signal?: AbortSignal;
  /** The pause before a second try, in milliseconds. Default 500. */
  readonly pauseMs?: number;
  readonly checkpoint?: CheckpointOptions;
}

/** How a bundle of the catalogue is made of its publisher's checkpoint. */
export interface CheckpointOptions {
  /** Default fp32: the checkpoint as it is. */
  readonly precision?: Precision | undefined;
  /** Another address of the checkpoint, or the path of one that is there already. Default: the publisher's. */
  readonly from?: string | undefined;
  /** Accept a file at `from` that is not the published one, if its tensors have the same names and shapes. */
  readonly allowOtherWeights?: boolean | undefined;
}

/** The requirements of a pull, in bytes. */
export interface PullRequirements {
  readonly title: string;
  /** Still to be fetched or copied. */
  readonly download: number;
  /** Still to be written, the download included. */
  readonly disk: number;
  readonly freeDisk: number;
  /** While the network runs on a CPU; undefined if the catalogue does not say. */
  readonly memory: number | undefined;
}

export interface PullProgress {
  readonly file: string;
  /** Bytes of the whole bundle that are there, and that there will be. */
  readonly received: number;
  readonly total: number;
}

/** Where a bundle's parts are. */
interface Source {
  readonly manifest: CatalogueEntry['manifest'];
  readonly fetched: readonly BundleFile[];
  readonly requestFor: (file: string) => { readonly url: URL; readonly headers?: Readonly<Record<string, string>> };
  /** NOTICE.md, which has to travel with the weights. */
  readonly notice: string | undefined;
  readonly recipe?: Recipe;
}

/** The parts that turn a fetched checkpoint into a bundle. */
interface Recipe {
  readonly skeleton: Skeleton;
  readonly origin: Origin;
  /** A file on this machine that is copied instead of fetched. */
  readonly copyFrom: string | undefined;
  readonly memory: number;
}

/**
 * Fetches a bundle into `directory`. It appears there complete and checked, or not at all; what an interrupted pull
 * fetched, the next one resumes.
 *
 * Uses the proxies that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name, and HF_ENDPOINT and HF_TOKEN for Hugging Face.
 * @param from a name in a catalogue.json of `modelDirs`, or the address of a manifest.json or of the folder it is in
 * @throws {BundleError} naming the address, file, tensor or field that is wrong
 */
export async function pullBundle(from: string, options: PullOptions): Promise<Bundle> {
  const { directory, modelDirs, signal } = options;
  const dispatcher = new EnvHttpProxyAgent({
    connect: { timeout: 15_000 },
    headersTimeout: 30_000,
    bodyTimeout: 30_000,
  });
  try {
    const source = /^https?:/i.test(from)
      ? await sourceAt(from, dispatcher, signal)
      : await sourceCalled(from, modelDirs, options.checkpoint ?? {});
    if (!source.recipe) refuseCheckpointOptions(source, options.checkpoint);
    const { name } = source.manifest;
    await refuseShadowed(name, directory, modelDirs);
    const place = join(directory, name);
    const installed = await loadBundle(place).catch(() => undefined);
    if (installed && (await isSame(installed, source))) return installed;

    // Its name starts with a dot, which no bundle's does: it is never taken for one.
    const draft = join(directory, `.${name}.pull`);
    await mkdir(draft, { recursive: true });
    const unlock = await lock(`${draft}.lock`);
    try {
      await checkSpace(source, draft, options);
      await fetchFiles(source, draft, dispatcher, options);
      const { keepsCheckpoint } = await completeDraft(source, draft, options);
      await options.check(await loadBundle(draft));
      if (source.recipe && !keepsCheckpoint) await rm(join(draft, source.recipe.origin.checkpoint.name));
      await moveInto(draft, place);
    } catch (error) {
      throw isDiskFull(error) ? new BundleError(`The disk of ${directory} is full`, { cause: error }) : error;
    } finally {
      await unlock();
    }
    return loadBundle(place);
  } finally {
    await dispatcher.close();
  }
}

async function sourceCalled(name: string, modelDirs: readonly string[], options: CheckpointOptions): Promise<Source> {
  const entry = await findInCatalogue(name, modelDirs);
  const { manifest, urls, skeleton } = entry;
  const requestFor = (file: string) => viaHub(new URL(urls[file]!));
  if (!skeleton) return { manifest, fetched: manifest.files, requestFor, notice: undefined };

  const { precision = 'fp32', from } = options;
  const isAddress = from !== undefined && /^https?:/i.test(from);
  const parts = await readSkeleton({ ...entry, skeleton }, precision);
  const copyFrom = isAddress ? undefined : from;
  const { checkpoint, published } = await checkpointOf(manifest.files[0]!, options, copyFrom);
  return {
    manifest,
    fetched: [checkpoint],
    requestFor: isAddress ? () => viaHub(new URL(from)) : requestFor,
    notice: undefined,
    recipe: {
      skeleton: parts,
      origin: { checkpoint, published, precision, skeleton: parts.digest },
      copyFrom,
      memory: skeleton.memory,
    },
  };
}

/** The checkpoint to use: the published one, or the other one that was given and allowed. */
async function checkpointOf(
  published: BundleFile,
  { allowOtherWeights = false }: CheckpointOptions,
  path: string | undefined,
): Promise<Pick<Origin, 'checkpoint' | 'published'>> {
  if (path === undefined) {
    if (!allowOtherWeights) return { checkpoint: published, published: true };
    throw new BundleError('Other weights must be in a file on this machine: give its path');
  }
  const found = await stat(path).catch((cause: unknown) => {
    throw new BundleError(`${path} cannot be read: ${reason(cause)}`, { cause });
  });
  if (found.size !== published.size && !allowOtherWeights) {
    throw new BundleError(`${path} is not the published file: it has ${found.size} bytes, expected ${published.size}`);
  }
  const sha256 = await sha256Of(path);
  if (sha256 === published.sha256) return { checkpoint: published, published: true };
  if (!allowOtherWeights) {
    throw new BundleError(`${path} is not the published file: SHA-256 ${sha256}, expected ${published.sha256}`);
  }
  // Its own name could be that of another file of the bundle.
  const name = `checkpoint${/^\.[a-z]+$/.test(extname(path)) ? extname(path) : ''}`;
  return { checkpoint: { name, size: found.size, sha256 }, published: false };
}

function refuseCheckpointOptions({ manifest }: Source, options: CheckpointOptions = {}): void {
  if (Object.values(options).every((value) => value === undefined || value === false)) return;
  throw new BundleError(`${manifest.name} is not made of a checkpoint: it has no precisions and no other weights`);
}

async function sourceAt(address: string, dispatcher: Dispatcher, signal?: AbortSignal): Promise<Source> {
  if (!URL.canParse(address)) throw new BundleError(`${address} is no address`);
  const url = new URL(address);
  if (!url.pathname.endsWith('.json')) url.pathname = url.pathname.replace(/\/?$/, '/manifest.json');
  // What follows the "?" may be the key to all of them.
  const urlOf = (file: string) => Object.assign(new URL(file, url), { search: url.search });
  const text = await fetchText(url, dispatcher, signal);
  if (text === undefined) throw new BundleError(`${url} cannot be fetched: the server answered 404`);
  const notice = await fetchText(urlOf('NOTICE.md'), dispatcher, signal);
  const manifest = parseManifest(text, url.href);
  return { manifest, fetched: manifest.files, requestFor: (file) => ({ url: urlOf(file) }), notice };
}

/** The longest manifest or notice that is read, in characters. */
const maxText = 1024 * 1024;

/** @returns undefined if there is no such thing. @throws {BundleError} for any other answer than a text */
async function fetchText(url: URL, dispatcher: Dispatcher, signal?: AbortSignal): Promise<string | undefined> {
  try {
    const response = await fetch(url, { dispatcher, signal: signal ?? null });
    if (!response.ok) {
      // undici 7 can end the process if a connection closes while its response is unread.
      await response.body?.cancel();
      if (response.status === 404) return undefined;
      throw new Error(`the server answered ${response.status}`);
    }
    let text = '';
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece;
      if (text.length > maxText) throw new Error('it is too long to be a manifest or a notice');
    }
    return text;
  } catch (cause) {
    signal?.throwIfAborted();
    throw new BundleError(`${url} cannot be fetched: ${reason(cause)}`, { cause });
  }
}

async function refuseShadowed(name: string, directory: string, modelDirs: readonly string[]): Promise<void> {
  for (const searched of modelDirs.slice(0, Math.max(modelDirs.indexOf(directory), 0))) {
    if (await exists(join(searched, name, 'manifest.json'))) {
      throw new BundleError(
        `There is a bundle called ${name} in ${searched} already, which would be found before the one that is pulled`,
      );
    }
  }
}

const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );

async function isSame(installed: Bundle, { manifest, recipe }: Source): Promise<boolean> {
  const isEqual = recipe
    ? JSON.stringify(installed.manifest.origin) === JSON.stringify(recipe.origin)
    : JSON.stringify(installed.manifest) === JSON.stringify(manifest);
  if (!isEqual) return false;
  return verifyBundle(installed).then(
    () => true,
    () => false,
  );
}

/** @throws {BundleError} if the disk is too full for what is still missing */
async function checkSpace(source: Source, draft: string, { onStart }: PullOptions): Promise<void> {
  let download = 0;
  for (const { name, size } of source.fetched) {
    const [part, complete] = await Promise.all([sizeOf(join(draft, `${name}.part`)), sizeOf(join(draft, name))]);
    download += Math.max(size - Math.max(part, complete), 0);
  }
  const disk = download + (source.recipe ? convertedSize(source.recipe) : 0);
  const { bavail, bsize } = await statfs(draft);
  const freeDisk = bavail * bsize;
  onStart?.({ title: source.manifest.title, download, disk, freeDisk, memory: source.recipe?.memory });
  if (disk > freeDisk) {
    throw new BundleError(
      `${readable(disk)} are needed in ${join(draft, '..')}, and ${readable(freeDisk)} are free there`,
    );
  }
}

const sizeOf = (path: string) =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  );

const readable = (count: number) => (count < 1e9 ? `${(count / 1e6).toFixed(1)} MB` : `${(count / 1e9).toFixed(1)} GB`);

/** Size of the file that is written beside the checkpoint if its weights are rounded. */
function convertedSize({ skeleton, origin }: Recipe): number {
  if (origin.precision === 'fp32') return 0;
  return skeleton.weights.reduce(
    (sum, { dtype, shape }) => sum + shape.reduce((product, size) => product * size, itemSizes[dtype]),
    0,
  );
}

async function fetchFiles(source: Source, draft: string, dispatcher: Dispatcher, options: PullOptions): Promise<void> {
  const { fetched, requestFor, recipe } = source;
  const { signal, pauseMs } = options;
  const total = fetched.reduce((sum, { size }) => sum + size, 0);
  let before = 0;
  for (const { name, size, sha256 } of fetched) {
    const path = join(draft, name);
    const base = before;
    const onProgress = (received: number) => options.onProgress?.({ file: name, received: base + received, total });
    if (!(await exists(path)) || (await sha256Of(path)) !== sha256) {
      const part = `${path}.part`;
      if (recipe?.copyFrom !== undefined) await copy(recipe.copyFrom, part);
      else await download({ ...requestFor(name), path: part, size, sha256, dispatcher, signal, onProgress, pauseMs });
      await rename(part, path);
    }
    before += size;
    onProgress(size);
  }
  const wanted = new Set(fetched.map(({ name }) => name));
  // An earlier pull may have been interrupted in another version of the bundle.
  for (const name of await readdir(draft)) if (!wanted.has(name)) await rm(join(draft, name), { recursive: true });
}

async function copy(from: string, to: string): Promise<void> {
  // Some file systems copy nothing until one of the two changes.
  await copyFile(from, to, constants.COPYFILE_FICLONE).catch(async (cause: unknown) => {
    await rm(to, { force: true });
    throw new BundleError(`${from} cannot be copied to ${to}: ${reason(cause)}`, { cause });
  });
}

/** Adds the files that are not fetched. */
async function completeDraft(
  source: Source,
  draft: string,
  options: PullOptions,
): Promise<{ keepsCheckpoint: boolean }> {
  const { manifest, notice, recipe } = source;
  if (recipe) {
    const { skeleton, origin } = recipe;
    const total = origin.checkpoint.size;
    return assemble(draft, skeleton, manifest, origin, {
      signal: options.signal,
      onProgress: (fraction) =>
        options.onProgress?.({ file: `${origin.precision} weights`, received: Math.round(fraction * total), total }),
    });
  }
  const texts = {
    'manifest.json': `${JSON.stringify(manifest, null, 2)}\n`,
    ...(notice !== undefined && { 'NOTICE.md': notice }),
  };
  for (const [name, text] of Object.entries(texts)) await writeFile(join(draft, name), text, { flush: true });
  return { keepsCheckpoint: true };
}

/** Keeps a second process from gathering the same bundle in the same place. @returns what lifts it */
async function lock(path: string): Promise<() => Promise<void>> {
  for (;;) {
    const file = await open(path, 'wx').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    if (file) {
      await file.writeFile(String(process.pid));
      await file.close();
      return () => rm(path, { force: true });
    }
    const owner = Number(await readFile(path, 'utf8').catch(() => ''));
    if (owner > 0 && isRunning(owner)) {
      throw new BundleError(`Process ${owner} is pulling this bundle already. If that is no gen3d, delete ${path}`);
    }
    await rm(path, { force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Puts the finished draft in its place; an older version leaves it the moment before. */
async function moveInto(draft: string, place: string): Promise<void> {
  const retired = `${draft}.${randomBytes(4).toString('hex')}`;
  const hadOlder = await rename(place, retired).then(
    () => true,
    () => false,
  );
  await rename(draft, place);
  await syncFolder(join(place, '..'));
  if (hadOlder) await rm(retired, { recursive: true, force: true });
}

async function syncFolder(path: string): Promise<void> {
  // Windows opens no folders.
  if (process.platform === 'win32') return;
  const folder = await open(path);
  await folder.sync();
  await folder.close();
}
