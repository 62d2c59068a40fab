// `npm run release -- --dry-run`: checks, builds and packs all packages into release/, verifies the tarballs and tries
// them as a new user would. Works in a fresh clone. Without --dry-run, it then publishes them, which only the release
// workflow should do. The folder also gets checksums, an SBOM and the list of licenses.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Failed, main, start } from './processes.mjs';
import { root } from './repository.mjs';
import { requireNode } from './require-node.mjs';

/** @typedef {import('./release/pack.mjs').Packed} Packed */

requireNode();
const { values: options } = parseArgs({ options: { 'dry-run': { type: 'boolean', default: false } } });
const folder = join(root, 'release');

await main(async (atEnd) => {
  const { requireReleasable } = await import('./release/preconditions.mjs');
  await requireReleasable();
  for (const script of ['setup', 'build']) await run('npm', ['run', script]);

  // These need the installed packages.
  const { packAll } = await import('./release/pack.mjs');
  const { verify } = await import('./release/verify.mjs');
  const { tryPackages } = await import('./release/trial.mjs');
  const { licensesOf } = await import('./release/licenses.mjs');

  const { packages, others } = await packAll(folder);
  const pathOf = (/** @type {Packed} */ { tarball }) => tarball;
  const all = [...others, ...packages];
  const problems = await verify(all.map(pathOf));
  if (problems.length > 0) throw new Failed(problems.join('\n'));
  writeFileSync(join(folder, 'SHA256SUMS'), all.map(pathOf).map(checksumLine).join(''));
  const sbom = await tryPackages(packages.map(pathOf), atEnd);
  writeFileSync(join(folder, 'sbom.cdx.json'), `${JSON.stringify(sbom, null, 2)}\n`);
  writeFileSync(join(folder, 'licenses.txt'), licensesOf(sbom));
  console.log(`\n${folder} has ${all.length} packages, SHA256SUMS, sbom.cdx.json and licenses.txt.`);
  if (!options['dry-run']) await publish(all);
});

/** @param {string} tarball */
function checksumLine(tarball) {
  return `${createHash('sha256').update(readFileSync(tarball)).digest('hex')}  ${tarball.slice(folder.length + 1)}\n`;
}

/**
 * Publishes the versions that are not on the registry yet. Models and onnxruntime often are.
 *
 * @param {readonly Packed[]} packages
 */
async function publish(packages) {
  for (const { name, version, tarball } of packages) {
    const args = ['view', `${name}@${version}`, 'version'];
    const { stdout } = await start('npm', args, { stdio: 'pipe', shell: true }).ended;
    if (stdout.trim() === version) console.log(`${name} ${version} is already published.`);
    else await run('npm', ['publish', tarball, '--provenance', '--access', 'public']);
  }
}

/**
 * @param {string} command
 * @param {readonly string[]} args
 */
async function run(command, args) {
  const { code } = await start(command, args, { cwd: root, stdio: 'inherit', shell: true }).ended;
  if (code !== 0) throw new Failed(`${[command, ...args].join(' ')} failed.`);
}
