import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failed, start } from '../processes.mjs';

/** @typedef {import('./pack.mjs').Packed} Packed */

/** The packages of a release folder, in the order in which they are published. */
const listName = 'packages.json';
const checksumsName = 'SHA256SUMS';

/**
 * The files of a release folder that say what `publish` may publish.
 *
 * @param {string} folder
 * @param {readonly Packed[]} packages
 * @returns {Record<string, string>} text by file name
 */
export function releaseLists(folder, packages) {
  const relative = packages.map((each) => ({ ...each, tarball: each.tarball.slice(folder.length + 1) }));
  return {
    [listName]: `${JSON.stringify(relative, null, 2)}\n`,
    [checksumsName]: relative.map(({ tarball }) => `${sha256(join(folder, tarball))}  ${tarball}\n`).join(''),
  };
}

/**
 * Publishes the versions that are not on the registry yet; models and onnxruntime often are. Imports nothing that is
 * installed: this runs with the right to publish, so no dependency's code may run with it.
 *
 * @param {string} folder what a dry run made
 * @throws {Failed} before anything is published, if a tarball is missing or differs from the one that was checked
 */
export async function publish(folder) {
  if (!existsSync(join(folder, listName)))
    throw new Failed(`${folder} has no release. Run \`npm run release -- --dry-run\` first.`);
  /** @type {Packed[]} */
  const packages = JSON.parse(readFileSync(join(folder, listName), 'utf8'));
  const checksums = readFileSync(join(folder, checksumsName), 'utf8');
  for (const { tarball } of packages) {
    if (!checksums.includes(`${sha256(join(folder, tarball))}  ${tarball}\n`))
      throw new Failed(`${tarball} is not the file that was checked: ${checksumsName} has another checksum.`);
  }
  for (const { name, version, tarball } of packages) {
    const viewed = await start('npm', ['view', `${name}@${version}`, 'version'], { stdio: 'pipe', shell: true }).ended;
    if (viewed.stdout.trim() === version) {
      console.log(`${name} ${version} is already published.`);
      continue;
    }
    const args = ['publish', join(folder, tarball), '--ignore-scripts', '--provenance', '--access', 'public'];
    const { code } = await start('npm', args, { stdio: 'inherit', shell: true }).ended;
    if (code !== 0) throw new Failed(`npm ${args.join(' ')} failed.`);
  }
}

/** @param {string} path */
function sha256(path) {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}
