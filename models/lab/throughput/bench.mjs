// Photos per minute on a pool with several threads, the processor time of each, the share of the time in which the device
// is idle, the stages that take longest, and the memory.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { median, row } from '../../../scripts/bench/figures.mjs';
import { Failed, start } from '../../../scripts/processes.mjs';
import { root } from '../../../scripts/repository.mjs';

const cutout = 'examples/photos/toy-truck.png';
const withBackground = 'examples/photos/painted-chair.jpg';

/** @typedef {{ seconds: number, cpuSeconds: number, deviceSeconds: number, stageMs: Record<string, number>, peak?: number }} Figures */
/** @typedef {{ photo: string, device: string, threads: number, figures: Figures[] }} Run */

/**
 *   node models/lab/bench.mjs throughput
 *   node models/lab/bench.mjs throughput --threads 1 --threads 8 --photos 16 --rounds 5
 *   node models/lab/bench.mjs throughput --device auto --threads 8     what this machine can do, with its GPU if it has one
 *
 * The simulated device responds after 50 ms without using the CPU, as a GPU does.
 *
 * @param {import('../../../scripts/processes.mjs').AtEnd} atEnd
 */
export async function benchThroughput(atEnd) {
  const { values } = parseArgs({
    args: process.argv.slice(3),
    options: {
      bundle: { type: 'string', default: 'gen3d-base' },
      threads: { type: 'string', multiple: true, default: ['1', '2', '4'] },
      photos: { type: 'string', default: '8' },
      rounds: { type: 'string', default: '3' },
      device: { type: 'string', multiple: true, default: ['cpu', 'simulated'] },
    },
  });
  const photos = Number(values.photos);
  // Comparing the simulated device with the CPU takes as long as making some models, so it is done once.
  const cacheDir = mkdtempSync(join(tmpdir(), 'gen3d-throughput-'));
  atEnd(() => rmSync(cacheDir, { recursive: true }));
  const settings = values.device.flatMap((device) =>
    (device === 'simulated' ? [cutout] : [cutout, withBackground]).map((photo) => [photo, device]),
  );
  /** @type {Run[]} */
  const runs = settings.flatMap(([photo, device]) =>
    values.threads.map((threads) => ({ photo, device, threads: Number(threads), figures: [] })),
  );
  // The runs take turns, so other programs on the machine slow them equally.
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const run of runs) run.figures.push(await measure(run, { bundle: values.bundle, photos, cacheDir }));
  }
  print(runs, photos, values.bundle);
}

/**
 * @param {Run} run
 * @param {{ bundle: string, photos: number, cacheDir: string }} common
 * @returns {Promise<Figures>}
 */
async function measure({ photo, device, threads }, common) {
  const isSimulated = device === 'simulated';
  const preload = isSimulated ? ['--require', join(import.meta.dirname, 'simulated-device.cjs')] : [];
  const request = { ...common, device: isSimulated ? 'dml' : device, photo: join(root, photo), threads };
  const args = [join(import.meta.dirname, 'run.mjs'), JSON.stringify(request)];
  // As a variable, because the process that compares the device with the CPU needs it too.
  const env = { ...process.env, NODE_OPTIONS: preload.join(' ') };
  const { code, stdout, stderr } = await start(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    .ended;
  if (code !== 0) throw new Failed(`${args.join(' ')} failed:\n${stderr.slice(-2000)}`);
  return JSON.parse(stdout.slice(stdout.trimEnd().lastIndexOf('\n') + 1));
}

/**
 * @param {readonly Run[]} runs
 * @param {number} photos
 * @param {string} bundle
 */
function print(runs, photos, bundle) {
  console.log(`${photos} photos with ${bundle}, medians of ${runs[0].figures.length} rounds.\n`);
  const headings = ['photos a minute', 'of the first', 'CPU seconds a photo', 'device idle', 'peak memory'];
  row('photo', 'device', 'threads', ...headings, 'longest stages');
  row('---', '---', '--:', ...headings.map(() => '--:'), '---');
  for (const { photo, device, threads, figures } of runs) {
    const first = runs.find((run) => run.photo === photo && run.device === device) ?? runs[0];
    const perMinute = (/** @type {Figures} */ { seconds }) => (60 * photos) / seconds;
    // By round, because the machine may be faster in one round than in another.
    const ratio = median(figures.map((figure, round) => perMinute(figure) / perMinute(first.figures[round])));
    const cpu = median(figures.map(({ cpuSeconds }) => cpuSeconds / photos));
    const idle = median(figures.map(({ seconds, deviceSeconds }) => 1 - deviceSeconds / seconds));
    row(
      basename(photo),
      device,
      threads,
      median(figures.map(perMinute)).toFixed(1),
      ratio.toFixed(2),
      cpu.toFixed(2),
      `${Math.round(100 * idle)} %`,
      `${median(figures.map(({ peak }) => peak ?? Number.NaN))} MB`,
      longestStages(figures),
    );
  }
}

/**
 * The three stages that take longest, with their seconds.
 *
 * @param {readonly Figures[]} figures
 */
function longestStages(figures) {
  const seconds = Object.keys(figures[0].stageMs).map((stage) => ({
    stage,
    median: median(figures.map(({ stageMs }) => stageMs[stage] / 1000)),
  }));
  const longest = seconds.sort((a, b) => b.median - a.median).slice(0, 3);
  return longest.map(({ stage, median }) => `${stage} ${median.toFixed(2)}`).join(', ');
}
