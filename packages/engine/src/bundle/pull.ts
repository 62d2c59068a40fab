import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Dispatcher, EnvHttpProxyAgent, fetch } from 'undici';
import { BundleError } from '../errors.js';
import { findInCatalogue } from './catalogue.js';
import { download, reason } from './download.js';
import { type Bundle, loadBundle, parseManifest, sha256Of, verifyBundle } from './load-bundle.js';
import type { Manifest } from './manifest.js';

export interface PullOptions {
  /** The folder that gets the bundle, as a folder of its name. Made if it is missing. */
  readonly directory: string;
  /** All folders with bundles, `directory` among them, in the order in which they are searched. */
  readonly modelDirs: readonly string[];
  /** Looks at the whole bundle before it takes its place; throws what is wrong with it. */
  readonly check: (bundle: Bundle) => Promise<void>;
  readonly onProgress?: (progress: PullProgress) => void;
  readonly signal?: AbortSignal;
  /** The pause before a second try, in milliseconds. Default 500. */
  readonly pauseMs?: number;
}

export interface PullProgress {
  readonly file: string;
  /** Bytes of the whole bundle that are there, and that there will be. */
  readonly received: number;
  readonly total: number;
}

/** Where a bundle's parts lie. */
interface Source {
  readonly manifest: Manifest;
  readonly urlOf: (file: string) => URL;
  /** NOTICE.md, which has to travel with the weights. */
  readonly notice: string | undefined;
}

/**
 * Fetches a bundle into `directory`. It appears there whole and checked, or not at all; what an interrupted pull has
 * brought, the next one goes on with.
 *
 * Goes through the proxies that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name.
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
      : await sourceCalled(from, modelDirs);
    const { name } = source.manifest;
    await refuseShadowed(name, directory, modelDirs);
    const place = join(directory, name);
    const installed = await loadBundle(place).catch(() => undefined);
    if (installed && (await isSame(installed, source.manifest))) return installed;

    // Its name starts with a dot, which no bundle's does: it is never taken for one.
    const draft = join(directory, `.${name}.pull`);
    await mkdir(draft, { recursive: true });
    const unlock = await lock(`${draft}.lock`);
    try {
      await fetchFiles(source, draft, dispatcher, options);
      await options.check(await loadBundle(draft));
      await moveInto(draft, place);
    } finally {
      await unlock();
    }
    return loadBundle(place);
  } finally {
    await dispatcher.close();
  }
}

async function sourceCalled(name: string, modelDirs: readonly string[]): Promise<Source> {
  const entry = await findInCatalogue(name, modelDirs);
  return { manifest: entry.manifest, urlOf: (file) => new URL(entry.urls[file]!), notice: undefined };
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
  return { manifest: parseManifest(text, url.href), urlOf, notice };
}

/** The longest manifest or notice that is read, in characters. */
const maxText = 1024 * 1024;

/** @returns undefined if there is no such thing. @throws {BundleError} for any other answer than a text */
async function fetchText(url: URL, dispatcher: Dispatcher, signal?: AbortSignal): Promise<string | undefined> {
  try {
    const response = await fetch(url, { dispatcher, signal: signal ?? null });
    if (response.status === 404) return undefined;
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
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

async function isSame(installed: Bundle, manifest: Manifest): Promise<boolean> {
  if (JSON.stringify(installed.manifest) !== JSON.stringify(manifest)) return false;
  return verifyBundle(installed).then(
    () => true,
    () => false,
  );
}

async function fetchFiles(source: Source, draft: string, dispatcher: Dispatcher, options: PullOptions): Promise<void> {
  const { manifest, urlOf, notice } = source;
  const { signal, pauseMs } = options;
  const total = manifest.files.reduce((sum, { size }) => sum + size, 0);
  let before = 0;
  for (const { name, size, sha256 } of manifest.files) {
    const path = join(draft, name);
    const base = before;
    const onProgress = (received: number) => options.onProgress?.({ file: name, received: base + received, total });
    if (!(await exists(path)) || (await sha256Of(path)) !== sha256) {
      const part = `${path}.part`;
      await download({ url: urlOf(name), path: part, size, sha256, dispatcher, signal, onProgress, pauseMs });
      await rename(part, path);
    }
    before += size;
    onProgress(size);
  }
  const texts = {
    'manifest.json': `${JSON.stringify(manifest, null, 2)}\n`,
    ...(notice !== undefined && { 'NOTICE.md': notice }),
  };
  for (const [name, text] of Object.entries(texts)) await writeFile(join(draft, name), text, { flush: true });
  const wanted = new Set([...Object.keys(texts), ...manifest.files.map(({ name }) => name)]);
  // An earlier pull may have been interrupted in another version of the bundle.
  for (const name of await readdir(draft)) if (!wanted.has(name)) await rm(join(draft, name), { recursive: true });
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
