import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bundle } from '@gen3d/engine';

/** A bundle's folder on disk, with the bundle or the problem that makes it unusable. */
export type InstalledBundle = { readonly name: string; readonly directory: string } & (
  | { readonly bundle: Bundle; readonly notice: string | undefined }
  | { readonly problem: string }
);

/** All bundles in these folders. As in the server, the first of several bundles with the same name counts. */
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
  const { BundleError, loadBundle } = await import('@gen3d/engine');
  try {
    const bundle = await loadBundle(directory);
    const notice = await readFile(noticePath({ directory }), 'utf8').catch(() => undefined);
    return { name, directory, bundle, notice };
  } catch (error) {
    if (error instanceof BundleError) return { name, directory, problem: error.message };
    throw error;
  }
}

/** The file with the authors and licenses of a bundle. */
export const noticePath = ({ directory }: Pick<InstalledBundle, 'directory'>): string => join(directory, 'NOTICE.md');

export const sizeOf = ({ manifest }: Pick<Bundle, 'manifest'>): number =>
  manifest.files.reduce((sum, { size }) => sum + size, 0);

/** A bundle in the `--json` output of `models` and `doctor`. */
export function describeBundle(installed: InstalledBundle): object {
  const { name, directory } = installed;
  if ('problem' in installed) return { name, directory, problem: installed.problem };
  const { kind, title, licence } = installed.bundle.manifest;
  return { name, directory, kind, title, bytes: sizeOf(installed.bundle), licence, notice: installed.notice };
}
