import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { BundleError, MissingBundleError } from '../base/errors.js';
import { type BundleKind, BundleName, Manifest } from './manifest.js';

/** The npm packages `@gen3d/model-NAME` contain these bundles, which belong to gen3d. */
export const packagedBundles = ['gen3d-base', 'isnet'] as const;

/** Returns the npm package of one of `packagedBundles`. Undefined for other bundles. */
export function packageOf(bundle: string): string | undefined {
  return packagedBundles.some((name) => name === bundle) ? `@gen3d/model-${bundle}` : undefined;
}

/** Says which command installs one of `packagedBundles`. Undefined for other bundles. */
export function installHint(bundle: string): string | undefined {
  const name = packageOf(bundle);
  return name && `\`npm install ${name}\` adds it`;
}

/**
 * Finds the folders of all bundles.
 *
 * @param searched folders that contain bundles or are themselves bundles; missing ones are skipped
 * @returns the folders by bundle name. Of several bundles with the same name, the first counts
 */
export async function bundleFolders(searched: readonly string[]): Promise<Map<string, string>> {
  const folders = new Map<string, string>();
  for (const directory of searched) {
    for (const [name, folder] of await bundlesIn(directory)) if (!folders.has(name)) folders.set(name, folder);
  }
  return folders;
}

async function bundlesIn(directory: string): Promise<Array<[name: string, folder: string]>> {
  if (isBundle(directory)) return [[await nameOf(directory), directory]];
  const entries = await readdir(directory).catch(() => []);
  return (
    entries
      // A pull in progress uses a hidden folder.
      .filter((name) => !name.startsWith('.') && isBundle(join(directory, name)))
      .map((name) => [name, join(directory, name)])
  );
}

const isBundle = (folder: string) => existsSync(join(folder, 'manifest.json'));

/** Reads the name from the manifest, because a package's folder is called `model-NAME`. */
async function nameOf(folder: string): Promise<string> {
  try {
    const manifest: unknown = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8'));
    if (typeof manifest === 'object' && manifest && 'name' in manifest) return String(manifest.name);
  } catch {
    // Loading the bundle reports what is wrong with its manifest.
  }
  return basename(folder).replace(/^model-/, '');
}

/** Names the reconstructor without weights, which needs no folder. */
export const builtInBundle = 'inflate';

/** A bundle on disk whose manifest and file sizes have been checked. */
export interface Bundle<M extends Manifest = Manifest> {
  readonly directory: string;
  readonly manifest: M;
}

/**
 * Reads a bundle's manifest and checks that its files exist and have the right sizes.
 *
 * This is fast, because it reads no weights; `verifyBundle` does.
 * @throws {BundleError} naming the field or the file that is wrong
 * @example
 * const { manifest } = await loadBundle('models/gen3d-base');
 * console.log(manifest.title);
 */
export async function loadBundle(directory: string): Promise<Bundle> {
  const manifest = await readManifest(join(directory, 'manifest.json'));
  for (const { name, size } of manifest.files) {
    const path = join(directory, name);
    const found = await stat(path).catch((cause: unknown) => {
      throw new BundleError(`${path} is missing: the bundle ${manifest.name} is incomplete. Fetch it again`, { cause });
    });
    if (found.size !== size) {
      throw new BundleError(
        `${path} has ${found.size} bytes, its manifest says ${size}: the bundle ${manifest.name} is damaged. Fetch it again`,
      );
    }
  }
  return { directory, manifest };
}

/** Narrows a bundle to a kind. @throws {BundleError} if it is of another kind */
export function bundleOfKind<K extends BundleKind>(bundle: Bundle, kind: K): Bundle<Extract<Manifest, { kind: K }>> {
  const { name, kind: actual } = bundle.manifest;
  if (actual !== kind) throw new BundleError(`${name} is a ${actual} bundle, and a ${kind} bundle is needed here`);
  // TypeScript does not narrow properties of a type parameter. The line above is the check.
  return bundle as Bundle<Extract<Manifest, { kind: K }>>;
}

/**
 * Finds the bundle called `name` in the first of `searchDirectories` that has it or is it, skipping missing
 * directories. A name that contains a slash or starts with a dot is the path of a bundle.
 *
 * @throws {MissingBundleError} if none has it
 * @throws {BundleError} if the first one is damaged
 * @example
 * const bundle = await findBundle('triposr', ['models', '/srv/gen3d/models']);
 */
export async function findBundle(name: string, searchDirectories: readonly string[]): Promise<Bundle> {
  if (isPath(name)) return loadBundle(resolve(name));
  if (!BundleName.safeParse(name).success) {
    throw new BundleError(
      `"${name}" is not a valid bundle name: use lowercase letters and digits, joined by dots or dashes. For a folder, write ./${name}`,
    );
  }
  const folders = await bundleFolders(searchDirectories);
  const directory = folders.get(name);
  if (directory === undefined) {
    const hint = installHint(name);
    if (hint) throw new MissingBundleError(`The bundle ${name} is not installed. ${hint}`);
    const others = [...folders.keys()].sort().join(', ');
    throw new MissingBundleError(
      `No bundle called ${name} in ${searchDirectories.join(', ') || 'an empty list of folders'}${others && `: there are ${others}`}`,
    );
  }
  const bundle = await loadBundle(directory);
  // A bundle with two names would appear twice in lists, and one name could not be chosen.
  if (bundle.manifest.name === name) return bundle;
  throw new BundleError(
    `${directory} holds the bundle ${bundle.manifest.name}: rename the folder, or the bundle in its manifest.json`,
  );
}

/** Whether the value given for a bundle is a folder instead of a name. */
export const isPath = (name: string): boolean => /[/\\]|^\./.test(name);

/**
 * Reads every file of the bundle and compares its SHA-256 with the manifest's.
 *
 * @throws {BundleError} naming the first file that differs
 */
export async function verifyBundle({ directory, manifest }: Bundle): Promise<void> {
  for (const { name, sha256 } of manifest.files) {
    const path = join(directory, name);
    const actual = await sha256Of(path).catch((cause: unknown) => {
      throw new BundleError(`${path} cannot be read`, { cause });
    });
    if (actual !== sha256) {
      throw new BundleError(`${path} is not the file its manifest describes: SHA-256 ${actual}, expected ${sha256}`);
    }
  }
}

/** Computes the SHA-256 of a file, in hexadecimal. */
export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

async function readManifest(path: string): Promise<Manifest> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new BundleError(`${path} cannot be read: every bundle folder has a manifest.json`, { cause });
  });
  return parseJson(Manifest, text, path, 'a manifest');
}

/**
 * Parses JSON and validates it.
 *
 * @param path of the text, for the error
 * @param what the expected content for the error, such as "a manifest"
 * @throws {BundleError} naming the invalid field
 */
export function parseJson<T>(schema: z.ZodType<T>, text: string, path: string, what: string): T {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new BundleError(`${path} is not valid JSON`, { cause });
  }
  const parsed = schema.safeParse(json);
  if (!parsed.success) throw new BundleError(`${path} is not ${what}:\n${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

/** A bundle's folder on disk, with the bundle or the problem that makes it unusable. */
export type InstalledBundle = { readonly name: string; readonly directory: string } & (
  | {
      readonly bundle: Bundle;
      /** NOTICE.md with the authors and licenses. */
      readonly notice: string | undefined;
    }
  | { readonly problem: string }
);

/** Lists all bundles that `findBundle` finds in these folders. */
export async function installedBundles(searched: readonly string[]): Promise<InstalledBundle[]> {
  const folders = await bundleFolders(searched);
  return Promise.all([...folders].sort().map(([name, directory]) => installedBundle(name, directory)));
}

/** Reads the bundle in one folder. */
export async function installedBundle(name: string, directory: string): Promise<InstalledBundle> {
  try {
    const bundle = await loadBundle(directory);
    const notice = await readFile(join(directory, 'NOTICE.md'), 'utf8').catch(() => undefined);
    return { name, directory, bundle, notice };
  } catch (error) {
    if (error instanceof BundleError) return { name, directory, problem: error.message };
    throw error;
  }
}

/** Bytes of its files. */
export const sizeOf = ({ manifest }: Pick<Bundle, 'manifest'>): number =>
  manifest.files.reduce((sum, { size }) => sum + size, 0);
