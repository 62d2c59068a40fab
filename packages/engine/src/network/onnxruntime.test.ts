// @module-tag slow
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../temporary-folder.fixture.js';

/** Runs a program with an empty home folder, and an environment in which onnxruntime does not detect tests. */
function run(program: string) {
  const home = temporaryFolder();
  const result = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { HOME: home, PATH: process.env.PATH },
    encoding: 'utf8',
  });
  return { ...result, left: readdirSync(home, { recursive: true }) };
}

const openSession = `
  import { probe } from '@gen3d/engine';
  const probed = await probe('open', { provider: 'cpu' });
  console.log('problem' in probed ? probed.problem : 'opened');`;

test('a session of onnxruntime leaves no device id and no events of its telemetry', () => {
  expect(run(openSession)).toMatchObject({ stdout: 'opened\n', left: [] });
});

test('the engine cannot be loaded only in a worker thread, where it cannot turn telemetry off', {
  tags: 'slow',
}, () => {
  const inThread = `new Worker("import('@gen3d/engine')", { eval: true });`;
  const alone = run(`import { Worker } from 'node:worker_threads'; ${inThread}`);
  expect(alone.stderr).toContain('Import @gen3d/engine in the main thread before');
  const afterMain = run(`import { Worker } from 'node:worker_threads'; import '@gen3d/engine'; ${inThread}`);
  expect(afterMain).toMatchObject({ status: 0, stderr: '' });
});
