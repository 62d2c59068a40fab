import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'tsup';
import { root } from '../repository.mjs';

const serverFolder = join(root, 'packages/server');

/**
 * Builds modules of the server that its package does not export.
 *
 * @param {import('../processes.mjs').AtEnd} atEnd removes the built files
 * @param {Readonly<Record<string, string>>} entry names and paths below packages/server
 * @returns {Promise<{ code: string, open: (name: string) => Promise<any> }>} `code` is the folder of the built files;
 *   `open` imports one of them
 */
export async function buildServerSources(atEnd, entry) {
  // Below the server's folder, where Node finds its dependencies.
  const cache = join(serverFolder, 'node_modules/.cache');
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
    entry: Object.fromEntries(Object.entries(entry).map(([name, path]) => [name, join(serverFolder, path)])),
  });
  return { code, open: (name) => import(pathToFileURL(join(code, `${name}.js`)).href) };
}
