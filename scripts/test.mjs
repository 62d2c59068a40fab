// `npm test`: installs, builds, checks types, lints, checks the packages and runs every test, also on a fresh clone.
// Arguments are passed to vitest. The last line of the output is the number of tests, for people and for CI.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './repository.mjs';
import { requireNode } from './require-node.mjs';

requireNode();
let exitCode = 0;

for (const script of ['setup', 'build', 'typecheck', 'lint', 'check-packages']) {
  const status = run('npm', ['run', script], { shell: process.platform === 'win32' });
  if (status === 0) continue;
  console.error(`\nnpm run ${script} failed.\n`);
  exitCode ||= status;
  // The tests need these two. After any other failure they still run.
  if (script === 'setup' || script === 'build') process.exit(exitCode);
}

const folder = mkdtempSync(join(tmpdir(), 'gen3d-test-'));
try {
  const report = join(folder, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const status = run(process.execPath, [vitest, 'run', ...reporters, ...process.argv.slice(2)]);
  exitCode ||= status;
  console.log(summary(JSON.parse(readFileSync(report, 'utf8'))));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = exitCode;

/**
 * @param {string} command
 * @param {readonly string[]} args
 * @param {import('node:child_process').SpawnSyncOptions} [options]
 */
function run(command, args, options = {}) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit', ...options });
  if (error) throw error;
  return status ?? 1;
}

/** @param {import('vitest/reporters').JsonTestResults} report */
function summary({ numPassedTests, numFailedTests, numPendingTests, numTodoTests, testResults }) {
  // vitest lists a file that failed to load without any failed test. Count it as one.
  const unloaded = testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
  );
  const skipped = numPendingTests + numTodoTests;
  const counts = `${numPassedTests} passed, ${numFailedTests + unloaded.length} failed`;
  return skipped === 0 ? counts : `${skipped} skipped: they need software that is not installed here\n${counts}`;
}
