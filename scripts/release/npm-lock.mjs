import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { Failed, start } from '../processes.mjs';
import { root } from '../repository.mjs';

/**
 * @typedef {object} Locked a package in pnpm's lockfile
 * @property {{ integrity: string }} [resolution]
 * @property {string[]} [os]
 * @property {string[]} [cpu]
 * @property {string[]} [libc]
 */
/** @typedef {{ dependencies?: Record<string, string>, optionalDependencies?: Record<string, string>, optional?: boolean }} Snapshot */
/** @typedef {Snapshot & { name: string, version: string, bin?: Record<string, string> }} Manifest */

/**
 * Makes what `npm ci` needs to install packed packages with the contents in pnpm-lock.yaml. A plain `npm install` of the
 * tarballs would take the newest versions that their ranges allow.
 *
 * @param {readonly string[]} tarballs absolute paths
 * @returns {Promise<{ manifest: object, lock: object }>} of package.json and package-lock.json
 */
export async function npmLock(tarballs) {
  const { importers, packages, snapshots } = parse(readFileSync(join(root, 'pnpm-lock.yaml'), 'utf8'));
  /** @type {Map<string, Manifest & { tarball: string }>} */
  const own = new Map();
  for (const tarball of tarballs) {
    const manifest = await manifestIn(tarball);
    own.set(manifest.name, { ...manifest, tarball });
  }
  // Packages with peers have a snapshot for each combination. Their own dependencies are the same.
  /** @type {Map<string, Snapshot>} */
  const byPackage = new Map(Object.entries(snapshots).map(([id, snapshot]) => [withoutPeers(id), snapshot]));
  /** @type {Record<string, string>} versions of the dependencies of the packed packages */
  const versions = {};
  for (const folder of Object.keys(importers).filter((path) => /^(packages|models)\//.test(path))) {
    const { dependencies, optionalDependencies } = importers[folder];
    for (const [name, { version }] of Object.entries({ ...optionalDependencies, ...dependencies }))
      versions[name] = version;
  }
  // The packed runtime is onnxruntime-node, which the engine uses in a clone.
  const { version: runtime } = importers['packages/engine'].devDependencies['onnxruntime-node'];
  Object.assign(versions, byPackage.get(`onnxruntime-node@${runtime}`)?.dependencies);
  /** @type {Record<string, Record<string, unknown>>} */
  const installed = {};
  /** @type {Array<{ path: string, snapshot: Snapshot }>} */
  const queue = [];

  const dependencies = Object.fromEntries([...own.values()].map(({ name, tarball }) => [name, `file:${tarball}`]));
  const manifest = { name: 'gen3d-installation', version: '0.0.0', private: true, dependencies };
  for (const { name, version, bin, tarball, ...wanted } of own.values()) {
    const pinned = (/** @type {Record<string, string> | undefined} */ named = {}) =>
      mapValues(named, (_, name) => own.get(name)?.version ?? withoutPeers(versions[name] ?? ''));
    const optional = Object.entries(pinned(wanted.optionalDependencies));
    const snapshot = {
      dependencies: pinned(wanted.dependencies),
      // Those of other platforms are not in the lockfile.
      optionalDependencies: Object.fromEntries(optional.filter(([name, version]) => own.has(name) || version !== '')),
    };
    const path = `node_modules/${name}`;
    installed[path] = { version, resolved: `file:${tarball}`, bin, ...snapshot };
    queue.push({ path, snapshot });
  }
  for (const { path, snapshot } of queue) {
    for (const [name, peered] of Object.entries({ ...snapshot.dependencies, ...snapshot.optionalDependencies })) {
      const version = withoutPeers(peered);
      const found = visibleFrom(path, name).find((place) => place in installed);
      if (found !== undefined && installed[found]?.version === version) continue;
      const place = `${found === undefined ? '' : `${path}/`}node_modules/${name}`;
      /** @type {Locked} */
      const { resolution, os, cpu, libc } = packages[`${name}@${version}`] ?? {};
      if (!resolution?.integrity) throw new Failed(`pnpm-lock.yaml does not have ${name}@${version}`);
      const { optional, ...needs } = byPackage.get(`${name}@${version}`) ?? {};
      const pinned = Object.fromEntries(
        Object.entries(needs)
          .filter(([key]) => /dependencies$/i.test(key))
          .map(([key, named]) => [key, mapValues(named, (version) => withoutPeers(version))]),
      );
      installed[place] = { version, integrity: resolution.integrity, os, cpu, libc, optional, ...pinned };
      queue.push({ path: place, snapshot: needs });
    }
  }
  const lock = { name: manifest.name, version: manifest.version, lockfileVersion: 3, requires: true };
  return { manifest, lock: { ...lock, packages: { '': manifest, ...installed } } };
}

/**
 * @param {string} tarball
 * @returns {Promise<Manifest>}
 */
async function manifestIn(tarball) {
  const { code, stdout, both } = await start('tar', ['-xzOf', tarball, 'package/package.json'], { stdio: 'pipe' })
    .ended;
  if (code !== 0) throw new Failed(`${tarball} has no package.json:\n${both}`);
  return JSON.parse(stdout);
}

/**
 * @param {string} id such as `@scope/name@1.0.0(peer@2.0.0)`
 */
const withoutPeers = (id) => id.split('(', 1)[0] ?? '';

/**
 * Where Node looks for a package, from the innermost folder to the outermost.
 *
 * @param {string} path of the package that requires it
 * @param {string} name
 */
function visibleFrom(path, name) {
  const parts = path.split(/\/?node_modules\//).slice(1);
  return parts
    .map((_, index) => parts.slice(0, index + 1))
    .reverse()
    .map((outer) => `node_modules/${outer.join('/node_modules/')}/node_modules/${name}`)
    .concat(`node_modules/${name}`);
}

/**
 * @param {Record<string, string>} values
 * @param {(value: string, key: string) => string} convert
 * @returns {Record<string, string>}
 */
const mapValues = (values, convert) =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, convert(value, key)]));
