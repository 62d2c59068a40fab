// How long each stage of a model takes and how much memory, by bundle, device and resolution; beside it, in the same run,
// TripoSR's own pipeline in PyTorch with the same weights.
import { existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Failed, start } from '../processes.mjs';
import { demoPhotos, root } from '../repository.mjs';
import { median, row } from './figures.mjs';

const options = {
  bundle: { type: 'string', multiple: true, default: ['gen3d-tiny', 'gen3d-base', 'inflate'] },
  device: { type: 'string', multiple: true, default: ['cpu'] },
  resolution: { type: 'string', multiple: true, default: ['128', '256', '384'] },
  photo: { type: 'string', default: 'examples/photos/toy-truck.png' },
  photos: { type: 'boolean', default: false },
  rounds: { type: 'string', default: '3' },
  reference: { type: 'string' },
  checkpoint: { type: 'string' },
  python: { type: 'string', default: 'python3' },
};

/**
 *   npm run bench engine                                     the bundles of the repository, at three resolutions
 *   npm run bench engine -- --photos --resolution 256        each demo photo
 *   npm run bench engine -- --bundle DIR --resolution 256 --reference TRIPOSR --checkpoint FOLDER [--python venv/bin/python]
 *
 * The last sets TripoSR (a clone of it, and a folder with `model.ckpt` and `config.yaml`) beside a bundle that was
 * made of the same checkpoint: `scripts/models/triposr/prove.py --size full --keep FOLDER` makes both with random weights.
 */
export async function benchEngine() {
  const { values } = parseArgs({ args: process.argv.slice(3), options });
  const photos = values.photos ? demoPhotos() : [resolve(values.photo)];
  const runs = photos.flatMap((photo) =>
    values.bundle.flatMap((bundle) =>
      values.device.flatMap((device) =>
        values.resolution.map((resolution) => {
          const at = existsSync(bundle) ? resolve(bundle) : bundle;
          const request = JSON.stringify({ bundle: at, device, resolution: Number(resolution), photo });
          return {
            labels: [basename(photo), basename(bundle), device, resolution],
            command: [process.execPath, join(root, 'scripts/bench/engine-run.mjs'), request],
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

  // All take turns, so that another program on the machine slows them alike.
  const measured = runs.map(() => []);
  for (let round = 0; round < Number(values.rounds); round += 1) {
    for (const [index, { command }] of runs.entries()) measured[index].push(await runOne(command));
  }
  print(runs, measured);
}

async function runOne([program, ...args]) {
  const { code, stdout, stderr } = await start(program, args, { stdio: ['ignore', 'pipe', 'pipe'] }).ended;
  if (code !== 0) throw new Failed(`${program} ${args.join(' ')} failed:\n${stderr.slice(-2000)}`);
  return JSON.parse(stdout.trim().split('\n').at(-1));
}

function print(runs, measured) {
  const rounds = measured[0].length;
  console.log(`Medians of ${rounds} rounds in turn. A stage: seconds, and the most memory in MB while it ran.\n`);
  const stages = [...new Set(measured.flatMap(([first]) => Object.keys(first.stages)))];
  row('photo', 'bundle', 'device', 'cells', 'load', 'total', 'peak', 'triangles', ...stages);
  row('---', '---', '---', '--:', '--:', '--:', '--:', '--:', ...stages.map(() => '--:'));
  for (const [index, { labels }] of runs.entries()) {
    const of = (read) => median(measured[index].map(read));
    const cells = stages.map((name) => {
      if (!measured[index][0].stages[name]) return '';
      const megabytes = of(({ stages: found }) => found[name].megabytes ?? 0);
      return `${of(({ stages: found }) => found[name].seconds).toFixed(2)}${megabytes ? `, ${megabytes}` : ''}`;
    });
    row(
      ...labels,
      `${of(({ load }) => load).toFixed(1)} s`,
      `${of(({ total }) => total).toFixed(1)} s`,
      `${of(({ peak }) => peak)} MB`,
      of(({ triangles }) => triangles).toLocaleString('en'),
      ...cells,
    );
  }
}
