// Comparison with another checkout of the repository, which must be built.
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Failed } from '../processes.mjs';
import { root } from '../repository.mjs';
import { median, row } from './figures.mjs';

/** A photo that is already cut out, and one with a background, which needs matting. */
export const comparedPhotos = ['toy-truck.png', 'painted-chair.jpg'].map((name) => join(root, 'examples/photos', name));

/** Minimum number of rounds of a comparison. */
export const comparisonRounds = 5;

/**
 * The two checkouts that are compared: the other one, then this one.
 *
 * @param {string} folder of the other checkout
 */
export function checkouts(folder) {
  const before = resolve(folder);
  if (!existsSync(join(before, 'packages/cli/dist/main.js'))) {
    throw new Failed(`${before} is not a built checkout. Run \`npm run setup && npm run build\` in it`);
  }
  return [before, root];
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
