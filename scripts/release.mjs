// `npm run release -- --dry-run`: checks, builds and packs all packages into release/, verifies the tarballs and tries
// them as a new user would. Works in a fresh clone. The folder also gets checksums, an SBOM and the list of licenses.
// `npm run release` publishes what a dry run made, and builds nothing. Only the release workflow should do that: one of
// its jobs runs the dry run, without the right to publish, and another one has the right, and installs nothing.
import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { Failed, main, start } from './processes.mjs';
import { packAll } from './release/pack.mjs';
import { publish, releaseLists } from './release/publish.mjs';
import { releaseProblems, withoutRepository } from './release/releasable.mjs';
import { requireNode, root } from './repository.mjs';

/** @typedef {import('./release/pack.mjs').Packed} Packed */

/**
 * @typedef {object} Component
 * @property {string} name
 * @property {string} version
 * @property {ReadonlyArray<{ license?: { id?: string, name?: string }, expression?: string }>} [licenses]
 */

requireNode();
const folder = join(root, 'release');
/** Packages whose terms have no SPDX identifier. */
const withNotice = ['@gen3d/model-isnet'];

await main(async (atEnd) => {
  if (!isDryRun()) return publish(folder);
  await requireReleasable();
  for (const script of ['setup', 'build']) await run('npm', ['run', script]);

  // These need the installed packages.
  const { verify } = await import('./release/verify.mjs');
  const { tryPackages } = await import('./release/trial.mjs');

  const { packages, others } = await packAll(folder);
  const all = [...others, ...packages];
  const problems = await verify(all.map(({ tarball }) => tarball));
  if (problems.length > 0) throw new Failed(problems.join('\n'));
  for (const [name, text] of Object.entries(releaseLists(folder, all))) writeFileSync(join(folder, name), text);
  const sbom = await tryPackages(
    packages.map(({ tarball }) => tarball),
    atEnd,
  );
  writeFileSync(join(folder, 'sbom.cdx.json'), `${JSON.stringify(sbom, null, 2)}\n`);
  writeFileSync(join(folder, 'licenses.txt'), licensesOf(sbom));
  for (const line of firstReleaseNotes(all)) console.log(line);
  console.log(`\n${folder} has ${all.length} packages, SHA256SUMS, sbom.cdx.json and licenses.txt.`);
});

/** @throws {Failed} for any other argument, because a misspelled one must not publish */
function isDryRun() {
  const options = /** @type {const} */ ({ 'dry-run': { type: 'boolean', default: false } });
  try {
    return parseArgs({ options }).values['dry-run'];
  } catch (error) {
    throw new Failed(
      `${/** @type {Error} */ (error).message}. Pass --dry-run, or pass nothing to publish what the dry run built.`,
    );
  }
}

/** @throws {Failed} naming everything that a release lacks */
async function requireReleasable() {
  const problems = releaseProblems();
  const { stdout: changes } = await start('git', ['status', '--porcelain'], { cwd: root, stdio: 'pipe' }).ended;
  if (changes !== '') problems.push(`There are uncommitted changes:\n${changes}`);
  if (problems.length > 0) throw new Failed(problems.join('\n'));
}

/**
 * What the first release still needs, of what can be checked without npm: see CONTRIBUTING.md.
 *
 * @param {readonly Packed[]} packages in the order in which they are published
 */
function firstReleaseNotes(packages) {
  const without = withoutRepository();
  return [
    ...(without.length > 0 ? [`Provenance needs "repository" in ${without.join(', ')}.`] : []),
    'The first time, publish by hand, in this order:',
    // Without ./, npm takes the path for a repository on GitHub.
    ...packages.map(({ tarball }) => `  npm publish ./${relative(root, tarball)} --access public`),
  ];
}

/**
 * A line for each package of a CycloneDX SBOM.
 *
 * @param {{ components: readonly Component[] }} sbom
 * @throws {Failed} naming packages without a license
 */
function licensesOf({ components }) {
  const lines = components.map(({ name, version, licenses = [] }) => {
    const names = licenses.map(({ license, expression }) => expression ?? license?.id ?? license?.name);
    const license = withNotice.includes(name) ? 'see its NOTICE.md' : names.join(', ');
    return { name: `${name} ${version}`, license };
  });
  const unlicensed = lines.filter(({ license }) => license === '');
  if (unlicensed.length > 0) throw new Failed(`Without a license: ${unlicensed.map(({ name }) => name).join(', ')}`);
  return lines
    .map(({ name, license }) => `${name}: ${license}\n`)
    .sort()
    .join('');
}

/**
 * @param {string} command
 * @param {readonly string[]} args
 */
async function run(command, args) {
  const { code } = await start(command, args, { cwd: root, stdio: 'inherit', shell: true }).ended;
  if (code !== 0) throw new Failed(`${[command, ...args].join(' ')} failed.`);
}
