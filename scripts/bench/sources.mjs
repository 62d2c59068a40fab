import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'tsup';
import { root } from '../repository.mjs';

/**
 * Builds modules of a package that it does not export.
 *
 * @param {import('../processes.mjs').AtEnd} atEnd removes the built files
 * @param {'engine' | 'server'} packageName
 * @param {Readonly<Record<string, string>>} entry names and paths below the package's folder
 * @returns {Promise<{ code: string, open: (name: string) => Promise<any> }>} `code` is the folder of the built files;
 *   `open` imports one of them
 */
export async function buildSources(atEnd, packageName, entry) {
  const folder = join(root, 'packages', packageName);
  // Below the package's folder, where Node finds its dependencies.
  const cache = join(folder, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const code = mkdtempSync(join(cache, 'sources-'));
  atEnd(() => rmSync(code, { recursive: true, force: true }));
  await build({
    config: false,
    silent: true,
    skipNodeModulesBundle: true,
    format: 'esm',
    target: 'node20',
    outDir: code,
    entry: Object.fromEntries(Object.entries(entry).map(([name, path]) => [name, join(folder, path)])),
  });
  return { code, open: (name) => import(pathToFileURL(join(code, `${name}.js`)).href) };
}
