import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

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
