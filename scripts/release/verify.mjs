import { readFileSync } from 'node:fs';
import { basename, join, posix } from 'node:path';
import { unpack } from '@publint/pack';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { start } from '../processes.mjs';
import { root } from '../repository.mjs';

/** npm refuses larger packages, except by arrangement. The largest of ours is the one with IS-Net. */
const maxTarballBytes = 150e6;

/**
 * Checks tarballs: publint, "Are the types wrong?", manifests and source maps. Prints a line per tarball.
 *
 * @param {readonly string[]} tarballs
 * @returns the problems
 */
export async function verify(tarballs) {
  const problems = [];
  for (const tarball of tarballs) {
    const bytes = readFileSync(tarball);
    const { files, rootDir } = await unpack(new Uint8Array(bytes).buffer);
    const textOf = (/** @type {string} */ path) => {
      const file = files.find(({ name }) => name === posix.join(rootDir, path));
      return file && Buffer.from(file.data).toString('utf8');
    };
    const manifest = JSON.parse(textOf('package.json') ?? '{}');
    const found = [
      ...manifestProblems(manifest),
      ...sourceMapProblems(files),
      ...(await publintProblems(bytes)),
      ...(manifest.exports && manifest.name !== 'gen3d' ? await typeProblems(tarball) : []),
      ...(bytes.length > maxTarballBytes ? [`it has ${bytes.length} bytes`] : []),
    ];
    const unpacked = files.reduce((sum, { data }) => sum + data.byteLength, 0);
    console.log(
      `${basename(tarball)}: ${megabytes(bytes.length)}, unpacked ${megabytes(unpacked)}, ${files.length} files`,
    );
    problems.push(...found.map((problem) => `${manifest.name}: ${problem}`));
  }
  return problems;
}

const megabytes = (/** @type {number} */ bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

/** @param {any} manifest */
function manifestProblems({
  license,
  dependencies = {},
  optionalDependencies = {},
  peerDependencies = {},
  scripts = {},
  exports,
}) {
  const ranges = Object.entries({ ...dependencies, ...optionalDependencies, ...peerDependencies });
  return [
    ...(license ? [] : ['package.json has no license']),
    ...(exports && !('./package.json' in exports) ? ['it does not export ./package.json, which some tools read'] : []),
    ...ranges
      .filter(([, range]) => /^(workspace|catalog|file|link):/.test(range))
      .map(([name, range]) => `${name} is ${range}`),
    ...['preinstall', 'install', 'postinstall']
      .filter((name) => name in scripts)
      .map((name) => `it runs a script at ${name}`),
  ];
}

/**
 * Source maps must be in the package, with the text of their sources or with the sources themselves.
 *
 * @param {ReadonlyArray<{ name: string, data: Uint8Array }>} files
 */
function sourceMapProblems(files) {
  const names = new Set(files.map(({ name }) => name));
  return files.flatMap(({ name, data }) => {
    const folder = posix.dirname(name);
    if (name.endsWith('.map')) {
      const { sources = [], sourcesContent = [] } = JSON.parse(Buffer.from(data).toString('utf8'));
      const missing = sources.filter(
        (/** @type {string} */ source, /** @type {number} */ i) =>
          sourcesContent[i] == null && !names.has(posix.join(folder, source)),
      );
      return missing.map((/** @type {string} */ source) => `${name} names ${source}, which is not in the package`);
    }
    if (!/\.[cm]?js$/.test(name)) return [];
    const map = /^\/\/# sourceMappingURL=(?!data:)(\S+)\s*$/m.exec(Buffer.from(data.slice(-500)).toString('utf8'))?.[1];
    return map === undefined || names.has(posix.join(folder, map)) ? [] : [`${name} names ${map}, which is missing`];
  });
}

/** @param {Buffer} bytes */
async function publintProblems(bytes) {
  const { messages, pkg } = await publint({ pack: { tarball: new Uint8Array(bytes).buffer }, strict: true });
  return messages.map((message) => `publint: ${formatMessage(message, pkg, { color: false })}`);
}

/**
 * Programs use the SDK, the schema and the converter, so these support the resolution of Node 10, which TypeScript uses in
 * many older projects. A package with only ES modules leaves out what `require` would resolve to.
 *
 * @param {string} tarball
 */
async function typeProblems(tarball) {
  const attw = join(root, 'node_modules/@arethetypeswrong/cli/dist/index.js');
  const isInternal = /-(rpc|engine|server|weights)-/.test(basename(tarball));
  const isEsmOnly = isInternal || /-convert-/.test(basename(tarball));
  const ignored = [
    ...(isEsmOnly ? ['cjs-resolves-to-esm'] : []),
    // Entry points of child processes and of the dashboard have no types.
    ...(isInternal ? ['untyped-resolution', 'no-resolution'] : []),
  ];
  const args = ['--profile', isInternal ? 'esm-only' : 'strict', '--no-color', '--no-emoji'];
  const rules = ignored.length > 0 ? ['--ignore-rules', ...ignored] : [];
  const { code, both } = await start(process.execPath, [attw, tarball, ...args, ...rules], { stdio: 'pipe' }).ended;
  return code === 0 ? [] : [both];
}
