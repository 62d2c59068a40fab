// The Python tests of models/training. They need PyTorch and the other packages of models/training/requirements.txt,
// in models/training/.venv or for `python3` on the PATH, and are skipped otherwise. Slow: they compile the network.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { root } from '../repository.mjs';

const folder = join(root, 'models/training');
const modules = 'import numpy, onnx, onnxruntime, scipy, torch, trimesh, PIL';
const python = [join(folder, '.venv/bin/python'), 'python3'].find(
  (command) => spawnSync(command, ['-c', modules]).status === 0,
);

describe.skipIf(!python)('models/training', () => {
  /** Test by test, as `python -m unittest -v` prints them. */
  let output = '';

  beforeAll(async () => {
    // Warnings would be printed between the name of a test and its result.
    const child = spawn(python!, ['-W', 'ignore', '-m', 'unittest', '-v'], { cwd: folder });
    child.stdout.resume();
    child.stderr.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
    await once(child, 'close');
  }, 600_000);

  test.each(unitTests())('$module: $title', ({ module, name }) => {
    const line = output.split('\n').find((candidate) => candidate.startsWith(`${name} (${module}.`));
    expect(line, output).toMatch(/ \.\.\. ok$/);
  });
});

function unitTests() {
  const files = readdirSync(folder).filter((name) => /^test_\w+\.py$/.test(name));
  return files.flatMap((file) =>
    [...readFileSync(join(folder, file), 'utf8').matchAll(/^ {4}def (test_(\w+))\(/gm)].map(([, name, title]) => ({
      module: file.slice(0, -'.py'.length),
      name: name!,
      title: title!.replaceAll('_', ' '),
    })),
  );
}
