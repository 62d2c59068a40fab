// Comparison with other commits of the repository.
import { execFileSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Failed } from '../processes.mjs';
import { root } from '../repository.mjs';
import { median, row } from './figures.mjs';

/** A photo that is already cut out, and one with a background, which needs matting. */
export const comparedPhotos = ['toy-truck.png', 'painted-chair.jpg'].map((name) => join(root, 'examples/photos', name));

/** Minimum number of rounds of a comparison. */
export const comparisonRounds = 5;

/** Keeps the builds of other commits, which take a minute each. Below node_modules, their types cannot be built. */
const keptCheckouts = join(tmpdir(), 'gen3d-bench');

/**
 * The folders of the checkouts to compare: the given ones, then this one.
 *
 * @param {readonly string[]} against commits, which are installed and built first, or folders that are built already
 */
export const checkouts = (...against) => [
  ...against.map((each) => (existsSync(each) ? built(each) : buildOf(each))),
  root,
];

const isBuilt = (/** @type {string} */ checkout) => existsSync(join(checkout, 'packages/cli/dist/main.js'));

/** @param {string} folder */
function built(folder) {
  if (isBuilt(folder)) return resolve(folder);
  throw new Failed(`${folder} is not a built checkout. Run \`npm run setup && npm run build\` in it`);
}

/**
 * Checks out a commit with the dependencies it had then, and builds it.
 *
 * @param {string} name of the commit
 */
function buildOf(name) {
  // Results are printed to stdout, so programs print to stderr.
  const run = (/** @type {string} */ program, /** @type {string[]} */ ...args) =>
    execFileSync(program, args, { stdio: ['ignore', 2, 2], shell: process.platform === 'win32' });
  const commit = execFileSync('git', ['-C', root, 'rev-parse', '--verify', `${name}^{commit}`], { encoding: 'utf8' });
  const folder = join(keptCheckouts, commit.trim());
  if (isBuilt(folder)) return folder;
  rmSync(folder, { recursive: true, force: true });
  run('git', 'clone', '--quiet', '--shared', '--no-checkout', root, folder);
  run('git', '-C', folder, 'checkout', '--quiet', commit.trim());
  for (const script of ['setup', 'build']) run('npm', '--prefix', folder, 'run', script);
  return folder;
}

/** @typedef {{ name: string, unit: string, digits: number, before: number[], after: number[] }} Figure */

/**
 * A function that reads a figure from each round before and after. NaN stands for a missing one.
 *
 * @template Round
 * @param {readonly Round[]} before
 * @param {readonly Round[]} after
 * @returns {(name: string, unit: string, digits: number, read: (round: Round) => number) => Figure}
 */
export const figureReader = (before, after) => (name, unit, digits, read) => ({
  name,
  unit,
  digits,
  before: before.map(read),
  after: after.map(read),
});

/**
 * Prints the medians before and after, and their ratio.
 *
 * @param {ReadonlyArray<{ label: string, figures: readonly Figure[] }>} groups
 */
export function printComparison(groups) {
  row('photo', 'figure', 'before', 'after', 'after / before');
  row('---', '---', '--:', '--:', '--:');
  for (const { label, figures } of groups) {
    for (const { name, unit, digits, ...values } of figures) {
      const [before, after] = [median(values.before), median(values.after)];
      /** @param {number} value */
      const text = (value) => (Number.isNaN(value) ? '' : `${value.toFixed(digits)}${unit}`);
      const ratio = after / before;
      row(label, name, text(before), text(after), Number.isFinite(ratio) ? ratio.toFixed(2) : '');
    }
  }
}
