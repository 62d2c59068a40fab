import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BundleError } from '../base/errors.js';
import { type Bundle, loadBundle } from './load-bundle.js';

/** A bundle's folder on disk, with the bundle or the problem that makes it unusable. */
export type InstalledBundle = { readonly name: string; readonly directory: string } & (
  | {
      readonly bundle: Bundle;
      /** The text of NOTICE.md: authors and licenses. */
      readonly notice: string | undefined;
    }
  | { readonly problem: string }
);

/** All bundles in these folders. As in `findBundle`, the first of several bundles with the same name counts. */
export async function installedBundles(searched: readonly string[]): Promise<InstalledBundle[]> {
  const directories = new Map<string, string>();
  for (const parent of searched) {
    const entries = await readdir(parent, { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      const { name } = entry;
      // A pull in progress uses a hidden folder.
      if (name.startsWith('.') || directories.has(name) || !(entry.isDirectory() || entry.isSymbolicLink())) continue;
      const files: string[] = await readdir(join(parent, name)).catch(() => []);
      // Folders without a manifest are not bundles, such as models/training.
      if (files.includes('manifest.json')) directories.set(name, join(parent, name));
    }
  }
  return Promise.all([...directories].sort().map(([name, directory]) => installedBundle(name, directory)));
}

/** The bundle in one folder. */
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
