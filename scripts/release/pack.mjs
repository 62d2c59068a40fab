import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Failed, start } from '../processes.mjs';
import { requireFrom, root } from '../repository.mjs';

/** Folders of the packages with code. They are released with one version. */
export const codePackages = ['schema', 'sdk', 'rpc', 'engine', 'weights', 'convert', 'server', 'cli'].map(
  (name) => `packages/${name}`,
);
/** Folders of the packages with networks, whose versions change only with their files. */
export const modelPackages = ['models/gen3d-base', 'models/isnet'];

/** @typedef {{ name: string, version: string, tarball: string }} Packed */

/**
 * Packs with pnpm, because npm does not replace `workspace:` and `catalog:` with versions.
 *
 * @param {string} folder relative to the repository's root
 * @param {string} destination
 * @returns {Promise<Packed>}
 */
export async function pack(folder, destination) {
  const args = [join(root, 'scripts/pnpm.mjs'), 'pack', '--pack-destination', destination];
  return packed([process.execPath, ...args], join(root, folder), destination);
}

/**
 * Packs everything that is published, in an order in which each package comes after those it needs. npm refuses to
 * install a package for another platform from a file, so those are in the subfolder `other-platforms`.
 *
 * @param {string} destination is emptied first
 */
export async function packAll(destination) {
  rmSync(destination, { recursive: true, force: true });
  /** @type {Packed[]} */
  const packages = [];
  /** @type {Packed[]} */
  const others = [];
  for (const platform of runtimePlatforms()) {
    if (platform === `${process.platform}-${process.arch}`) packages.push(await packRuntime(platform, destination));
    else others.push(await packRuntime(platform, join(destination, 'other-platforms')));
  }
  for (const folder of [...modelPackages, ...codePackages]) packages.push(await pack(folder, destination));
  return { packages, others };
}

/** The platforms of onnxruntime-node, such as `linux-x64`. */
const runtimePlatforms = () => {
  const binaries = join(runtimeFolder(), 'bin/napi-v6');
  return readdirSync(binaries).flatMap((os) => readdirSync(join(binaries, os)).map((cpu) => `${os}-${cpu}`));
};

const runtimeFolder = () => join(dirname(requireFrom('engine').resolve('onnxruntime-node')), '..');

/**
 * Makes the package of one platform from onnxruntime-node: without its install script, which downloads CUDA libraries,
 * and without the binaries of other platforms (45 instead of 288 MB on Linux x64).
 *
 * @param {string} platform
 * @param {string} destination
 * @returns {Promise<Packed>}
 */
async function packRuntime(platform, destination) {
  const source = runtimeFolder();
  const original = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'));
  // npm accepts provenance only for a package that names the repository it was made in.
  const { repository } = JSON.parse(readFileSync(join(root, 'packages/engine/package.json'), 'utf8'));
  const [os = '', cpu = ''] = platform.split('-');
  // CUDA exists for Linux x64 only. There, users may run the script themselves.
  const withCuda = platform === 'linux-x64';
  const { 'onnxruntime-common': common, ...cudaDependencies } = original.dependencies;
  const folder = mkdtempSync(join(tmpdir(), 'gen3d-runtime-'));
  try {
    for (const part of ['dist', 'lib', join('bin/napi-v6', os, cpu), ...(withCuda ? ['script'] : [])]) {
      // The macOS binding loads libonnxruntime.1.dylib. The file with the full version in its name is a copy of it.
      const filter = (/** @type {string} */ path) => !/\.\d+\.\d+\.\d+\.dylib$/.test(path);
      cpSync(join(source, part), join(folder, part), { recursive: true, filter });
    }
    const manifest = {
      name: `@gen3d/onnxruntime-${platform}`,
      version: original.version,
      description: `onnxruntime-node ${original.version} for ${os} ${cpu}, without its install script`,
      license: original.license,
      homepage: 'https://onnxruntime.ai',
      ...(repository && { repository }),
      engines: { node: '>=20.19' },
      os: [os],
      cpu: [cpu],
      type: 'commonjs',
      main: original.main,
      types: original.types,
      dependencies: { 'onnxruntime-common': common, ...(withCuda && cudaDependencies) },
    };
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    writeFileSync(join(folder, 'NOTICE.md'), runtimeNotice(original.version, os));
    return await packed(['npm', 'pack', '--pack-destination', destination], folder, destination);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param {string} version
 * @param {string} os
 */
const runtimeNotice = (version, os) => `# Origin and terms

The files in \`bin/\` and \`dist/\` are those of the npm package onnxruntime-node ${version}, unchanged. Source:
https://github.com/microsoft/onnxruntime. MIT License, Copyright (c) Microsoft Corporation:

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
${os === 'win32' ? '\nDirectML.dll, dxcompiler.dll and dxil.dll are redistributable components of Microsoft under its own terms.\n' : ''}`;

/**
 * @param {readonly string[]} command
 * @param {string} cwd
 * @param {string} destination
 * @returns {Promise<Packed>}
 */
async function packed([program = '', ...args], cwd, destination) {
  mkdirSync(destination, { recursive: true });
  const before = new Set(readdirSync(destination));
  const { code, both } = await start(program, args, { cwd, stdio: 'pipe', shell: true }).ended;
  const tarball = readdirSync(destination).find((name) => name.endsWith('.tgz') && !before.has(name));
  if (code !== 0 || !tarball) throw new Failed(`${cwd} cannot be packed:\n${both}`);
  const { name, version } = JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8'));
  return { name, version, tarball: join(destination, tarball) };
}
