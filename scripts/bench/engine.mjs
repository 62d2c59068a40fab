// Time and memory of each stage of a model, by photo, bundle, device and resolution. Optionally in the same run:
// TripoSR's own pipeline in PyTorch with the same weights.
import { existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Failed, start } from '../processes.mjs';
import { demoPhotos, root } from '../repository.mjs';
import { median, row } from './figures.mjs';

/** @typedef {{ seconds: number, megabytes?: number }} Stage */
/** @typedef {{ load: number, total: number, stages: Record<string, Stage>, peak: number, triangles: number }} Figures */
/** @typedef {{ labels: string[], command: string[] }} Run */

/**
 *   npm run bench engine                                     the bundles of the repository, at three resolutions
 *   npm run bench engine -- --photos --resolution 256        each demo photo
 *   npm run bench engine -- --bundle DIR --resolution 256 --reference TRIPOSR --checkpoint FOLDER [--python venv/bin/python]
 *
 * The last compares a bundle with TripoSR: a clone of it, and a folder with the `model.ckpt` and `config.yaml` that the
 * bundle was made from. `scripts/models/triposr/prove.py --size full --keep FOLDER` makes both with random weights.
 */
export async function benchEngine() {
  const { values } = parseArgs({
    args: process.argv.slice(3),
    options: {
      bundle: { type: 'string', multiple: true, default: ['gen3d-base', 'inflate'] },
      device: { type: 'string', multiple: true, default: ['cpu'] },
      resolution: { type: 'string', multiple: true, default: ['128', '256', '384'] },
      photo: { type: 'string', default: 'examples/photos/toy-truck.png' },
      photos: { type: 'boolean', default: false },
      rounds: { type: 'string', default: '3' },
      reference: { type: 'string' },
      checkpoint: { type: 'string' },
      python: { type: 'string', default: 'python3' },
    },
  });
  const photos = values.photos ? demoPhotos() : [resolve(values.photo)];
  /** @type {Run[]} */
  const runs = photos.flatMap((photo) =>
    values.bundle.flatMap((nameOrPath) =>
      values.device.flatMap((device) =>
        values.resolution.map((resolution) => {
          const bundle = existsSync(nameOrPath) ? resolve(nameOrPath) : nameOrPath;
          const request = JSON.stringify({ bundle, device, resolution: Number(resolution), photo });
          return {
            labels: [basename(photo), basename(bundle), device, resolution],
            command: [process.execPath, join(import.meta.dirname, 'engine-run.mjs'), request],
          };
        }),
      ),
    ),
  );
  if (values.reference) {
    if (!values.checkpoint)
      throw new Failed('--reference also needs --checkpoint FOLDER, with model.ckpt and config.yaml');
    for (const resolution of values.resolution) {
      const script = join(root, 'scripts/models/triposr/time_reference.py');
      const args = [resolve(values.reference), resolve(values.checkpoint), photos[0], '--resolution', resolution];
      runs.push({
        labels: [basename(photos[0]), 'TripoSR, PyTorch', 'cpu', resolution],
        command: [values.python, script, ...args],
      });
    }
  }

  // The runs take turns, so other programs on the machine slow them equally.
  /** @type {Figures[][]} */
  const measured = runs.map(() => []);
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const [index, { command }] of runs.entries()) measured[index].push(await runOne(command));
  }
  print(runs, measured);
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
 * @param {readonly Run[]} runs
 * @param {ReadonlyArray<readonly Figures[]>} measured by run, then round
 */
function print(runs, measured) {
  console.log(
    `Medians of ${measured[0].length} rounds. A stage: its seconds, and the peak memory in MB while it ran.\n`,
  );
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
