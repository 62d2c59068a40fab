// `npm run check-packages`: packs schema, sdk and cli as for publishing and checks them with publint and "Are the types
// wrong?". Also checks the size of the SDK in a browser. Needs a build.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { build } from 'tsup';
import { Failed, main, start } from './processes.mjs';
import { root } from './repository.mjs';
import { requireNode } from './require-node.mjs';

requireNode();
const maxBundleBytes = 30_000;

// The command line exports nothing, and so has no types.
const packages = [
  { name: 'schema', typed: true },
  { name: 'sdk', typed: true },
  { name: 'cli', typed: false },
];

await main(async (atEnd) => {
  const folder = mkdtempSync(join(tmpdir(), 'gen3d-packages-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  const problems = [];
  for (const { name, typed } of packages) {
    const tarball = await pack(name, join(folder, name));
    const found = [...(await lint(name, tarball)), ...(typed ? await checkTypes(tarball) : [])];
    console.log(`${name}: publint${typed ? ' and attw' : ''}: ${found.length} problems`);
    problems.push(...found);
  }
  const size = await browserBundleSize(join(folder, 'browser'));
  console.log(`sdk: ${(size / 1_000).toFixed(1)} kB gzipped in a browser; the limit is ${maxBundleBytes / 1_000} kB`);
  if (size >= maxBundleBytes) problems.push('The SDK is too large for a browser');
  if (problems.length > 0) throw new Failed(problems.join('\n'));
});

/**
 * Packs with pnpm, because npm does not replace `workspace:` and `catalog:` by versions.
 *
 * @param {string} name
 * @param {string} folder
 * @returns the tarball's path
 */
async function pack(name, folder) {
  const args = [join(root, 'scripts/pnpm.mjs'), 'pack', '--pack-destination', folder];
  const cwd = join(root, 'packages', name);
  const { code, both } = await start(process.execPath, args, { cwd, stdio: 'pipe' }).ended;
  if (code !== 0) throw new Failed(both);
  return join(folder, readdirSync(folder)[0]);
}

/**
 * @param {string} name
 * @param {string} tarball
 */
async function lint(name, tarball) {
  const { messages, pkg } = await publint({
    pack: { tarball: new Uint8Array(readFileSync(tarball)).buffer },
    strict: true,
  });
  return messages.map((message) => `publint: ${name}: ${formatMessage(message, pkg, { color: false })}`);
}

/**
 * Leaves out the resolution of Node 10, which ignores `exports`. All supported versions of Node follow it.
 *
 * @param {string} tarball
 */
async function checkTypes(tarball) {
  const attw = join(root, 'node_modules/@arethetypeswrong/cli/dist/index.js');
  const args = [attw, tarball, '--profile', 'node16', '--no-color', '--no-emoji'];
  const { code, both } = await start(process.execPath, args, { stdio: 'pipe' }).ended;
  return code === 0 ? [] : [both];
}

/** @param {string} folder */
async function browserBundleSize(folder) {
  await build({
    config: false,
    silent: true,
    entry: { sdk: join(root, 'packages/sdk/dist/index.js') },
    outDir: folder,
    format: 'esm',
    platform: 'browser',
    noExternal: [/./],
    minify: true,
  });
  const script = readdirSync(folder).find((name) => name.endsWith('js'));
  if (!script) throw new Error(`tsup wrote no script to ${folder}`);
  return gzipSync(readFileSync(join(folder, script))).length;
}
