// Most tests run commands in their own process. These run the program, as a shell does.
// @module-tag slow
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { bin, testFolder } from './run.js';

const { spawned } = testFolder();
test.each<[number, string, string[]]>([
  [0, 'help', ['help', 'create']],
  [2, 'an unknown command', ['craete']],
  [3, 'a server that does not run', ['list', '--api-key', 'gen3d_key', '--base-url', 'http://127.0.0.1:1']],
])('exits with %i for %s', async (code, _, args) => {
  const { stdout, stderr, ...result } = await spawned(args);
  expect(result).toEqual({ code });
  if (code === 0) expect([stdout !== '', stderr]).toEqual([true, '']);
  // Before it, a line may say that a request failed and is tried again.
  else expect([stdout, stderr]).toEqual(['', expect.stringMatching(/(^|\n)error: /)]);
});

test.skipIf(process.platform === 'win32')('too few open files are an error that says how to get more', async () => {
  const script = 'ulimit -n 50; exec "$0" "$1" doctor';
  const failed = promisify(execFile)('sh', ['-c', script, process.execPath, bin]);
  const stderr = expect.stringMatching(/^error: Too many open files\. .*ulimit -n 4096`\nEMFILE: /);
  await expect(failed).rejects.toMatchObject({ code: 1, stderr });
});
