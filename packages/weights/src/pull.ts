import { randomBytes } from 'node:crypto';
import { constants, copyFile, open, readdir, readFile, rm, rmdir, stat, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Device } from '@gen3d/engine';
import { type Bundle, BundleError, bundleFolders, loadBundle, sha256Of, verifyBundle } from '@gen3d/engine/bundles';
import { makeFolder, replaceFile, syncFolder } from '@gen3d/engine/files';
import { type Dispatcher, EnvHttpProxyAgent } from 'undici';
import { download, isDiskFull, reason, UnfinishedError } from './download.js';
import { requirementProblem } from './fitting-bundles.js';
import { assemble, weightBytes } from './skeleton/assemble.js';
import { type CheckpointOptions, findSource, type Source } from './source.js';

export interface PullOptions {
  /** The bundle gets its own folder in this one, which is created if it is missing. */
  readonly directory: string;
  /** All folders with bundles, `directory` among them, in the order in which they are searched. */
  readonly modelDirs: readonly string[];
  /** Checks the complete bundle before it is installed; throws if it cannot be used. */
  readonly check: (bundle: Bundle) => Promise<void>;
  /** Called once before anything is fetched. */
  readonly onStart?: (requirements: PullRequirements) => void;
  readonly onProgress?: (progress: PullProgress) => void;
  readonly signal?: AbortSignal;
  /** How many milliseconds to wait before a second try. Default 500. */
  readonly pauseMs?: number;
  readonly checkpoint?: CheckpointOptions;
  /** The device on which the bundle will run. Default `auto`. Bundles that need a GPU are refused without one. */
  readonly device?: Device | undefined;
}

/** The disk and memory that a pull requires, in bytes. */
export interface PullRequirements {
  readonly title: string;
  /** How much is still to be fetched or copied. */
  readonly download: number;
  /** How much is still to be written, including the download. */
  readonly disk: number;
  readonly freeDisk: number;
  /** How much the network takes on a CPU. Undefined if the catalog does not say. */
  readonly memory: number | undefined;
  /** How much the network takes on a GPU. Undefined if a CPU is fast enough. */
  readonly gpuMemory: number | undefined;
}

export interface PullProgress {
  readonly file: string;
  /** Bytes of the whole bundle: received so far, and in total. */
  readonly received: number;
  readonly total: number;
}

/**
 * Fetches a bundle into `directory`. It appears there complete and checked, or not at all. A pull resumes what an
 * interrupted one has fetched; after any other failure, nothing is left.
 *
 * Uses the proxies of HTTPS_PROXY, HTTP_PROXY and NO_PROXY, and HF_ENDPOINT and HF_TOKEN for Hugging Face.
 * @param name of a bundle in a catalog of `modelDirs`
 * @throws {BundleError} naming the URL, file, tensor or field that is wrong
 */
export async function pullBundle(name: string, options: PullOptions): Promise<Bundle> {
  const { directory, modelDirs, checkpoint, signal } = options;
  const dispatcher = new EnvHttpProxyAgent({
    connect: { timeout: 15_000 },
    headersTimeout: 30_000,
    bodyTimeout: 30_000,
  });
  try {
    const source = await findSource(name, modelDirs, checkpoint);
    await refuseShadowed(name, directory, modelDirs);
    const target = join(directory, name);
    const installed = await loadBundle(target).catch(() => undefined);
    if (installed && (await isSame(installed, source))) return installed;

    // No bundle's name starts with a dot, so the draft is never taken for one.
    const draft = join(directory, `.${name}.pull`);
    await makeFolder(draft);
    const unlock = await lock(`${draft}.lock`);
    try {
      await checkSpace(source, draft, options);
      await checkDevice(source, options);
      await fetchFiles(source, draft, dispatcher, options);
      const { unused } = await completeDraft(source, draft, options);
      await options.check(await loadBundle(draft));
      for (const name of unused) await rm(join(draft, name));
      await install(draft, target);
    } catch (error) {
      // Another pull resumes a download, but would copy a file of the user again, and would find the same wrong file.
      const canResume = signal?.aborted || error instanceof UnfinishedError || isDiskFull(error);
      if (!canResume || source.recipe?.copyFrom.size) await rm(draft, { recursive: true, force: true });
      // Only if it is empty.
      else await rmdir(draft).catch(() => {});
      throw isDiskFull(error) ? new BundleError(`The disk of ${directory} is full`, { cause: error }) : error;
    } finally {
      await unlock();
    }
    return loadBundle(target);
  } finally {
    await dispatcher.close();
  }
}

async function refuseShadowed(name: string, directory: string, modelDirs: readonly string[]): Promise<void> {
  const earlier = modelDirs.slice(0, Math.max(modelDirs.indexOf(directory), 0));
  const shadowing = (await bundleFolders(earlier)).get(name);
  if (shadowing !== undefined) {
    throw new BundleError(`The bundle ${name} is already installed in ${shadowing}, which precedes pulled bundles`);
  }
}

const sizeOf = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  );

async function isSame(installed: Bundle, { manifest, recipe }: Source): Promise<boolean> {
  const [found, wanted] = recipe ? [installed.manifest.origin, recipe.origin] : [installed.manifest, manifest];
  if (JSON.stringify(found) !== JSON.stringify(wanted)) return false;
  return verifyBundle(installed).then(
    () => true,
    () => false,
  );
}

/** @throws {BundleError} if the disk has too little space for the missing parts */
async function checkSpace(source: Source, draft: string, { onStart }: PullOptions): Promise<void> {
  let download = 0;
  const { manifest, recipe } = source;
  for (const { name, size } of manifest.files) download += Math.max(size - (await sizeOf(join(draft, name))), 0);
  const disk = download + (recipe?.rewrites ? weightBytes(recipe.skeleton) : 0);
  const { bavail, bsize } = await statfs(draft);
  const freeDisk = bavail * bsize;
  const gpuMemory = recipe?.needs.gpuMemory?.[recipe.origin.precision];
  onStart?.({ title: manifest.title, download, disk, freeDisk, memory: recipe?.needs.memory, gpuMemory });
  if (disk > freeDisk) {
    throw new UnfinishedError(
      `The bundle needs ${readable(disk)} in ${join(draft, '..')}, where ${readable(freeDisk)} are free`,
    );
  }
}

/** @throws {BundleError} if the bundle needs a GPU and there is none */
async function checkDevice({ manifest, recipe }: Source, { device = 'auto' }: PullOptions): Promise<void> {
  if (!recipe) return;
  const problem = await requirementProblem(manifest, recipe.needs, { device, precision: recipe.origin.precision });
  if (problem !== undefined) throw new BundleError(`${problem}. \`gen3d doctor\` shows the devices of this machine`);
}

const readable = (count: number) => (count < 1e9 ? `${(count / 1e6).toFixed(1)} MB` : `${(count / 1e9).toFixed(1)} GB`);

async function fetchFiles(source: Source, draft: string, dispatcher: Dispatcher, options: PullOptions): Promise<void> {
  const { requestFor, recipe } = source;
  const { files } = source.manifest;
  const { signal, pauseMs } = options;
  const total = files.reduce((sum, { size }) => sum + size, 0);
  let before = 0;
  for (const { name, size, sha256 } of files) {
    const path = join(draft, name);
    const base = before;
    const onProgress = (received: number) => options.onProgress?.({ file: name, received: base + received, total });
    const original = recipe?.copyFrom.get(name);
    if (original !== undefined) await copy(original, path, sha256);
    else await download({ ...requestFor(name), path, size, sha256, dispatcher, signal, onProgress, pauseMs });
    before += size;
    onProgress(size);
  }
  const wanted = new Set(files.map(({ name }) => name));
  // An interrupted pull of another version may have left other files.
  for (const name of await readdir(draft)) if (!wanted.has(name)) await rm(join(draft, name), { recursive: true });
}

async function copy(from: string, to: string, sha256: string): Promise<void> {
  // Some file systems copy nothing until one of the two files changes.
  await copyFile(from, to, constants.COPYFILE_FICLONE).catch(async (cause: unknown) => {
    await rm(to, { force: true });
    throw new BundleError(`${from} cannot be copied to ${to}: ${reason(cause)}`, { cause });
  });
  if ((await sha256Of(to)) !== sha256) throw new BundleError(`${from} changed while it was copied. Pull again`);
}

/** Adds the files that are not fetched. */
async function completeDraft(
  source: Source,
  draft: string,
  options: PullOptions,
): Promise<{ unused: readonly string[] }> {
  const { manifest, recipe } = source;
  if (recipe) {
    const { skeleton, origin } = recipe;
    const total = manifest.files.reduce((sum, { size }) => sum + size, 0);
    return assemble(draft, skeleton, manifest, origin, {
      signal: options.signal,
      onProgress: (fraction) =>
        options.onProgress?.({ file: `${origin.precision} weights`, received: Math.round(fraction * total), total }),
    });
  }
  await writeFile(join(draft, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`, { flush: true });
  return { unused: [] };
}

/**
 * Prevents another process from pulling the same bundle into the same folder. The lock file contains the process ID, so
 * that the next pull can replace the lock of a killed process immediately, unlike a lock that expires by its age.
 *
 * @returns a function that releases the lock
 */
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
      throw new BundleError(`Process ${owner} is already pulling this bundle. If it is not gen3d, delete ${path}`);
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

/** Gives the finished draft its name. A bundle of that name is moved away immediately before. */
async function install(draft: string, target: string): Promise<void> {
  const retired = `${draft}.${randomBytes(4).toString('hex')}`;
  const hadOlder = await replaceFile(target, retired).then(
    () => true,
    (cause: NodeJS.ErrnoException) => {
      if (cause.code === 'ENOENT') return false;
      // Windows refuses to rename a folder while a process has one of its files open.
      throw new BundleError(`${target} cannot be replaced: ${reason(cause)}. Stop gen3d, then pull the bundle again`, {
        cause,
      });
    },
  );
  await replaceFile(draft, target);
  await syncFolder(join(target, '..'));
  if (hadOlder) await rm(retired, { recursive: true, force: true });
}
