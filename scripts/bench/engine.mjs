// Time and memory of each stage of a model, by photo, bundle, device and resolution.
import { existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Failed, start } from '../processes.mjs';
import { demoPhotos, root } from '../repository.mjs';
import { checkouts, comparedPhotos, comparisonRounds, figureReader, printComparison } from './against.mjs';
import { median, row } from './figures.mjs';

/** @typedef {{ seconds: number, megabytes?: number }} Stage */
/** @typedef {{ load: number, total: number, stages: Record<string, Stage>, peak: number, triangles: number, bytes?: number }} Figures */
/** @typedef {{ labels: string[], command: string[] }} Run */

/**
 *   npm run bench engine                                     the bundles of the repository, at three resolutions
 *   npm run bench engine -- --photos --resolution 256        each demo photo
 *   npm run bench engine -- --against COMMIT                 compares with another commit, or with the folder of a built checkout
 *   npm run bench engine -- --against COMMIT --photos        on all demo photos, with the median ratios
 */
export async function benchEngine() {
  const { values } = parseArgs({
    args: process.argv.slice(3),
    options: {
      bundle: { type: 'string', multiple: true },
      device: { type: 'string', multiple: true, default: ['cpu'] },
      resolution: { type: 'string', multiple: true },
      photo: { type: 'string', default: 'examples/photos/toy-truck.png' },
      photos: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      against: { type: 'string' },
    },
  });
  if (values.against) {
    const { against, bundle, device, resolution, rounds } = values;
    return compare(against, {
      bundle: bundle?.[0] ?? 'gen3d-base',
      device: device[0],
      resolution: resolution?.[0],
      rounds: Number(rounds ?? comparisonRounds),
      photos: values.photos ? demoPhotos() : comparedPhotos,
    });
  }
  const photos = values.photos ? demoPhotos() : [resolve(values.photo)];
  const bundles = values.bundle ?? ['gen3d-base', 'inflate'];
  const resolutions = values.resolution ?? ['128', '256', '384'];
  /** @type {Run[]} */
  const runs = photos.flatMap((photo) =>
    bundles.flatMap((nameOrPath) =>
      values.device.flatMap((device) =>
        resolutions.map((resolution) => {
          const bundle = existsSync(nameOrPath) ? resolve(nameOrPath) : nameOrPath;
          const command = engineRun({ checkout: root, bundle, device, resolution: Number(resolution), photo });
          return { labels: [basename(photo), basename(bundle), device, resolution], command };
        }),
      ),
    ),
  );
  await printRuns(runs, Number(values.rounds ?? 3));
}

/**
 * Prints the figures of another checkout's engine and of this one's.
 *
 * @param {string} against
 * @param {{ bundle: string, device: string, resolution: string | undefined, rounds: number, photos: readonly string[] }} options
 */
async function compare(against, { bundle, device, resolution, rounds, photos }) {
  const cells = resolution === undefined ? undefined : Number(resolution);
  const runs = photos.flatMap((photo) =>
    checkouts(against).map((checkout) => ({
      labels: [basename(photo)],
      command: engineRun({ checkout, bundle, device, resolution: cells, photo }),
    })),
  );
  const measured = await measure(runs, rounds);
  const resolutionText = resolution === undefined ? 'default resolution' : `${resolution} cells`;
  console.log(`${bundle} on ${device}, ${resolutionText}, medians of ${rounds} rounds.\n`);
  printComparison(
    photos.map((photo, index) => {
      const [before, after] = [measured[2 * index], measured[2 * index + 1]];
      const figure = figureReader(before, after);
      const stages = new Set([...before, ...after].flatMap((figures) => Object.keys(figures.stages)));
      return {
        label: basename(photo),
        figures: [
          figure('total', ' s', 2, ({ total }) => total),
          ...[...stages].map((name) => figure(name, ' s', 2, (figures) => figures.stages[name]?.seconds ?? Number.NaN)),
          figure('peak memory', ' MB', 0, ({ peak }) => peak),
          figure('triangles', '', 0, ({ triangles }) => triangles),
          figure('GLB', ' kB', 0, ({ bytes }) => (bytes ?? Number.NaN) / 1000),
        ],
      };
    }),
  );
  for (const [kind, isMeant] of /** @type {const} */ ([
    ['cut out', (/** @type {string} */ photo) => photo.endsWith('.png')],
    ['with a background', (/** @type {string} */ photo) => !photo.endsWith('.png')],
  ])) {
    const ratios = photos.flatMap((photo, index) => {
      const total = (/** @type {Figures[]} */ figures) => median(figures.map((each) => each.total));
      return isMeant(photo) ? [total(measured[2 * index + 1]) / total(measured[2 * index])] : [];
    });
    if (ratios.length > 0)
      console.log(`\nTotal after / before, ${kind}, median of ${ratios.length}: ${median(ratios).toFixed(2)}`);
  }
}

/**
 * @param {{ checkout: string, bundle: string, device: string, resolution: number | undefined, photo: string }} request
 */
export const engineRun = (request) => [
  process.execPath,
  join(import.meta.dirname, 'engine-run.mjs'),
  JSON.stringify(request),
];

/**
 * The figures by run, then round. The runs take turns, so other programs on the machine slow them equally.
 *
 * @param {readonly Run[]} runs
 * @param {number} rounds
 */
async function measure(runs, rounds) {
  /** @type {Figures[][]} */
  const measured = runs.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, { command }] of runs.entries()) measured[index].push(await runOne(command));
  }
  return measured;
}

/**
 * @param {readonly string[]} command prints JSON on its last line
 * @returns {Promise<Figures>}
 */
async function runOne([program, ...args]) {
  const { code, stdout, stderr } = await start(program, args, { stdio: ['ignore', 'pipe', 'pipe'] }).ended;
  if (code !== 0) throw new Failed(`${program} ${args.join(' ')} failed:\n${stderr.slice(-2000)}`);
  return JSON.parse(stdout.slice(stdout.trimEnd().lastIndexOf('\n') + 1));
}

/**
 * Measures the runs and prints the medians as a table.
 *
 * @param {readonly Run[]} runs
 * @param {number} rounds
 */
export async function printRuns(runs, rounds) {
  const measured = await measure(runs, rounds);
  console.log(`Medians of ${rounds} rounds. A stage: its seconds, and the peak memory in MB while it ran.\n`);
  const stages = [...new Set(measured.flatMap(([first]) => Object.keys(first.stages)))];
  row('photo', 'bundle', 'device', 'cells', 'load', 'total', 'peak', 'triangles', ...stages);
  row('---', '---', '---', '--:', '--:', '--:', '--:', '--:', ...stages.map(() => '--:'));
  for (const [index, { labels }] of runs.entries()) {
    /** @param {(figures: Figures) => number} read */
    const medianOf = (read) => median(measured[index].map(read));
    const cells = stages.map((name) => {
      if (!measured[index][0].stages[name]) return '';
      const seconds = medianOf((figures) => figures.stages[name].seconds).toFixed(2);
      const megabytes = medianOf((figures) => figures.stages[name].megabytes ?? 0);
      return megabytes ? `${seconds}, ${megabytes}` : seconds;
    });
    row(
      ...labels,
      `${medianOf(({ load }) => load).toFixed(1)} s`,
      `${medianOf(({ total }) => total).toFixed(1)} s`,
      `${medianOf(({ peak }) => peak)} MB`,
      medianOf(({ triangles }) => triangles).toLocaleString('en'),
      ...cells,
    );
  }
}
