// Checks schema, sdk and cli as they would be published: packed, then read by publint and by "are the types wrong?".
// Ends with the size of the SDK in a browser. Needs a build.
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
const bundleLimit = 30_000;

// The command line exports nothing, so it has no types that could be wrong.
const packages = [{ name: 'schema', typed: true }, { name: 'sdk', typed: true }, { name: 'cli' }];

await main(async (atEnd) => {
  const folder = mkdtempSync(join(tmpdir(), 'gen3d-packages-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  const problems = [];
  for (const { name, typed } of packages) {
    const tarball = await pack(name, join(folder, name));
    const found = [...(await lint(name, tarball)), ...(typed ? await checkTypes(tarball) : [])];
    console.log(`${name}: publint${typed ? ' and attw' : ''} ${found.length === 0 ? 'found nothing' : 'complain'}`);
    problems.push(...found);
  }
  const size = await browserBundleSize(join(folder, 'browser'));
  console.log(`sdk: ${(size / 1_000).toFixed(1)} kB gzipped in a browser, of ${bundleLimit / 1_000} kB at most`);
  if (size >= bundleLimit) problems.push('The SDK is too large for a browser');
  if (problems.length > 0) throw new Failed(problems.join('\n'));
});

/** With pnpm, which alone knows what `workspace:` and `catalog:` mean. Returns the tarball's path. */
async function pack(name, folder) {
  const args = [join(root, 'scripts/pnpm.mjs'), 'pack', '--pack-destination', folder];
  const { code, both } = await start(process.execPath, args, { cwd: join(root, 'packages', name), stdio: 'pipe' })
    .ended;
  if (code !== 0) throw new Failed(both);
  return join(folder, readdirSync(folder)[0]);
}

async function lint(name, tarball) {
  const { buffer, byteOffset, byteLength } = readFileSync(tarball);
  const { messages, pkg } = await publint({
    pack: { tarball: buffer.slice(byteOffset, byteOffset + byteLength) },
    strict: true,
  });
  return messages.map((message) => `publint: ${name}: ${formatMessage(message, pkg, { color: false })}`);
}

/** Without the resolution of Node 10: it knows no `exports`, and every Node we support does. */
async function checkTypes(tarball) {
  const attw = join(root, 'node_modules/@arethetypeswrong/cli/dist/index.js');
  const args = [attw, tarball, '--profile', 'node16', '--no-color', '--no-emoji'];
  const { code, both } = await start(process.execPath, args, { stdio: 'pipe' }).ended;
  return code === 0 ? [] : [both];
}

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
  return gzipSync(readFileSync(join(folder, script))).length;
}
