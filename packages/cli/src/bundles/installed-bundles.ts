import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bundle } from '@gen3d/engine';

/** A model folder as found on disk: a bundle that can be used, or why it can't. */
export type InstalledModel = { readonly name: string; readonly directory: string } & (
  | { readonly bundle: Bundle; readonly notice: string | undefined }
  | { readonly problem: string }
);

/** Every model in these folders, as the server would find it: of two with one name, the first counts. */
export async function installedModels(directories: readonly string[]): Promise<InstalledModel[]> {
  const found = new Map<string, string>();
  for (const searched of directories) {
    const entries = await readdir(searched, { withFileTypes: true }).catch(() => []);
    for (const { name } of entries.filter((entry) => entry.isDirectory() || entry.isSymbolicLink())) {
      // What a pull has gathered so far.
      if (name.startsWith('.')) continue;
      const names: string[] = await readdir(join(searched, name)).catch(() => []);
      // A folder without a manifest is no model: models/training is the code that made ours.
      if (names.includes('manifest.json') && !found.has(name)) found.set(name, join(searched, name));
    }
  }
  return Promise.all([...found].sort().map(([name, directory]) => installedModel(name, directory)));
}

/** The model in one folder. */
export async function installedModel(name: string, directory: string): Promise<InstalledModel> {
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

/** What a bundle's manifest has no room for: whose work is in it, under which terms. */
export const noticePath = ({ directory }: Pick<InstalledModel, 'directory'>): string => join(directory, 'NOTICE.md');

export const sizeOf = ({ manifest }: Pick<Bundle, 'manifest'>): number =>
  manifest.files.reduce((sum, { size }) => sum + size, 0);
