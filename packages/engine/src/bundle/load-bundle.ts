import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { BundleError } from '../errors.js';
import { type BundleKind, BundleName, Manifest } from './manifest.js';

/** A model on disk whose manifest and file sizes have been checked. */
export interface Bundle<M extends Manifest = Manifest> {
  readonly directory: string;
  readonly manifest: M;
}

/**
 * Reads a bundle's manifest and checks that its files are there and have the size it says.
 *
 * Cheap enough for every start: it reads no weights. `verifyBundle` reads them.
 * @throws {BundleError} naming the field or the file that is wrong
 */
export async function loadBundle(directory: string): Promise<Bundle> {
  const manifest = await readManifest(join(directory, 'manifest.json'));
  for (const { name, size } of manifest.files) {
    const path = join(directory, name);
    const found = await stat(path).catch((cause: unknown) => {
      throw new BundleError(`${path} is missing: the bundle ${manifest.name} is incomplete, fetch it again`, { cause });
    });
    if (found.size !== size) {
      throw new BundleError(
        `${path} has ${found.size} bytes, its manifest says ${size}: the bundle ${manifest.name} is damaged, fetch it again`,
      );
    }
  }
  return { directory, manifest };
}

/** The same bundle, known to be of that kind. @throws {BundleError} if it is of another */
export function bundleOfKind<K extends BundleKind>(bundle: Bundle, kind: K): Bundle<Extract<Manifest, { kind: K }>> {
  const { name, kind: actual } = bundle.manifest;
  if (actual !== kind) throw new BundleError(`${name} is a ${actual} bundle, and a ${kind} bundle is needed here`);
  // TypeScript does not narrow a type parameter's property; the line above is the check.
  return bundle as Bundle<Extract<Manifest, { kind: K }>>;
}

/**
 * The bundle called `name` in the first of `searchDirectories` that has one; directories that don't exist are passed over.
 *
 * @throws {BundleError} if none has it, or the one found is damaged
 */
export async function findBundle(name: string, searchDirectories: readonly string[]): Promise<Bundle> {
  if (!BundleName.safeParse(name).success) {
    throw new BundleError(`"${name}" cannot be a bundle's name: small letters and digits, joined by dots or dashes`);
  }
  for (const searched of searchDirectories) {
    const directory = join(searched, name);
    const present = await stat(join(directory, 'manifest.json')).catch(() => undefined);
    if (present) return loadBundle(directory);
  }
  throw new BundleError(`No bundle called ${name} in ${searchDirectories.join(', ') || 'an empty list of folders'}`);
}

/**
 * Reads every file of the bundle and compares its SHA-256 with the manifest's.
 *
 * @throws {BundleError} naming the first file that differs
 */
export async function verifyBundle(bundle: Bundle): Promise<void> {
  for (const { name, sha256 } of bundle.manifest.files) {
    const path = join(bundle.directory, name);
    const hash = createHash('sha256');
    await pipeline(createReadStream(path), hash).catch((cause: unknown) => {
      throw new BundleError(`${path} cannot be read`, { cause });
    });
    const actual = hash.digest('hex');
    if (actual !== sha256) {
      throw new BundleError(`${path} is not the file its manifest describes: SHA-256 ${actual}, expected ${sha256}`);
    }
  }
}

async function readManifest(path: string): Promise<Manifest> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new BundleError(`${path} cannot be read: every bundle folder has a manifest.json`, { cause });
  });
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new BundleError(`${path} is not valid JSON`, { cause });
  }
  const manifest = Manifest.safeParse(json);
  if (!manifest.success) throw new BundleError(`${path} is not a manifest:\n${z.prettifyError(manifest.error)}`);
  return manifest.data;
}
