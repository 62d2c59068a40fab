// A bundle's engine next to TripoSR's own pipeline in PyTorch with the same weights. The two take turns.
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { engineRun, printRuns } from '../../../../scripts/bench/engine.mjs';
import { Failed } from '../../../../scripts/processes.mjs';
import { root } from '../../../../scripts/repository.mjs';

/**
 *   node models/lab/bench.mjs triposr --bundle DIR --reference TRIPOSR --checkpoint FOLDER [--resolution 256]
 *
 * TRIPOSR is a clone of it, and FOLDER has the `model.ckpt` and `config.yaml` that the bundle was made from.
 * `prove.py --size full --keep FOLDER` makes both with random weights. `--python venv/bin/python` sets the interpreter.
 */
export async function benchTriposr() {
  const { values } = parseArgs({
    args: process.argv.slice(3),
    options: {
      bundle: { type: 'string' },
      reference: { type: 'string' },
      checkpoint: { type: 'string' },
      python: { type: 'string', default: 'python3' },
      resolution: { type: 'string', default: '256' },
      rounds: { type: 'string', default: '3' },
    },
  });
  const { bundle, reference, checkpoint, python, resolution } = values;
  if (!bundle || !reference || !checkpoint)
    throw new Failed('The benchmark needs --bundle DIR, --reference TRIPOSR and --checkpoint FOLDER');
  const photo = join(root, 'examples/photos/toy-truck.png');
  const request = { checkout: root, bundle: resolve(bundle), device: 'cpu', resolution: Number(resolution), photo };
  const script = join(import.meta.dirname, 'time_reference.py');
  const args = [script, resolve(reference), resolve(checkpoint), photo, '--resolution', resolution];
  const labels = (/** @type {string} */ name) => [basename(photo), name, 'cpu', resolution];
  await printRuns(
    [
      { labels: labels(basename(bundle)), command: engineRun(request) },
      { labels: labels('TripoSR, PyTorch'), command: [python, ...args] },
    ],
    Number(values.rounds),
  );
}
