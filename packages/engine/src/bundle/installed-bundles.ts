import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BundleError } from '../base/errors.js';
import { bundleFolders } from './bundle-folders.js';
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

/** All bundles that `findBundle` finds in these folders. */
export async function installedBundles(searched: readonly string[]): Promise<InstalledBundle[]> {
  const folders = await bundleFolders(searched);
  return Promise.all([...folders].sort().map(([name, directory]) => installedBundle(name, directory)));
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
