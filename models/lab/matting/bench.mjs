// Matting at several sizes of the network's input, on photos with a known matte.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { median, row, sum } from '../../../scripts/bench/figures.mjs';
import { buildSources } from '../../../scripts/bench/sources.mjs';
import { Failed, start } from '../../../scripts/processes.mjs';
import { requireFrom } from '../../../scripts/repository.mjs';
import { composites } from './composites.mjs';

/** @type {typeof import('sharp').default} */
const sharp = requireFrom('engine')('sharp');

/** @typedef {import('./compare-mattes.mjs').MatteFigures & { seconds: number, cpuSeconds: number }} Result */
/** @typedef {{ results: Result[], peak: number }} Figures */

/** Sides of the network's input: of one pass over the whole photo, or of a first pass and a close-up. */
const defaultSizes = ['1024', '768', '640', '512', '448', '384', '384+512', '512+512', '512+576', '512+640'];

/**
 *   node models/lab/bench.mjs matting                                            all sizes, on the whole set
 *   node models/lab/bench.mjs matting --limit 24 --size 1024 --size 512+576      some sizes, on 24 photos
 *   node models/lab/bench.mjs matting --keep FOLDER                           keeps the photos with their true and found mattes
 *
 * Prints the table in models/isnet/README.md.
 *
 * @param {import('../../../scripts/processes.mjs').AtEnd} atEnd
 */
export async function benchMatting(atEnd) {
  const { values } = parseArgs({
    args: process.argv.slice(3),
    options: {
      size: { type: 'string', multiple: true, default: defaultSizes },
      limit: { type: 'string', default: 'Infinity' },
      seed: { type: 'string', default: '1' },
      keep: { type: 'string' },
    },
  });
  const folder = values.keep ? resolve(values.keep) : mkdtempSync(join(tmpdir(), 'gen3d-matting-'));
  mkdirSync(folder, { recursive: true });
  if (!values.keep) atEnd(() => rmSync(folder, { recursive: true, force: true }));
  const names = [];
  for await (const { name, jpeg, matte } of composites(Number(values.seed), Number(values.limit))) {
    writeFileSync(join(folder, `${name}.jpg`), jpeg);
    const { width, height, data } = matte;
    await sharp(data, { raw: { width, height, channels: 1 } }).toFile(join(folder, `${name}.png`));
    names.push(name);
  }
  const { code } = await buildSources(atEnd, 'engine', { matte: 'src/photo/matte.ts' });

  console.log(`${names.length} photos, seed ${values.seed}\n`);
  row('input', 'IoU', 'lowest', 'below 0.9', 'edge error', 'seconds', 'CPU seconds', 'peak memory');
  row('---', ...Array(7).fill('--:'));
  for (const size of values.size) {
    const request = JSON.stringify({ size, folder, names, code, keep: values.keep !== undefined });
    const { results, peak } = await runOne(request);
    /** @param {(result: Result) => number} read */
    const mean = (read) => sum(results.map(read)) / results.length;
    row(
      size,
      mean(({ iou }) => iou).toFixed(3),
      Math.min(...results.map(({ iou }) => iou)).toFixed(2),
      results.filter(({ iou }) => iou < 0.9).length,
      mean(({ edgeError }) => edgeError).toFixed(3),
      median(results.map(({ seconds }) => seconds)).toFixed(2),
      median(results.map(({ cpuSeconds }) => cpuSeconds)).toFixed(2),
      `${peak} MB`,
    );
  }
}

/**
 * Measures one size in a separate process, because peak memory is counted per process.
 *
 * @param {string} request
 * @returns {Promise<Figures>}
 */
async function runOne(request) {
  const script = join(import.meta.dirname, 'bench-run.mjs');
  const { code, stdout, stderr } = await start(process.execPath, [script, request], {
    stdio: ['ignore', 'pipe', 'pipe'],
  }).ended;
  if (code !== 0) throw new Failed(`${script} failed:\n${stderr.slice(-2000)}`);
  return JSON.parse(stdout);
}
