// What `npm test` does on a fresh clone: install, build, type-check, lint, check the packages,
// run every test. Arguments go to vitest.
// The last line is the count of the tests, for people and for CI.
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
  // Nothing can be tested without these two; a wrong type or a stray space must not hide what the tests say.
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

function run(command, args, options = {}) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit', ...options });
  if (error) throw error;
  return status ?? 1;
}

function summary({ numPassedTests, numFailedTests, numPendingTests, numTodoTests, testResults }) {
  // A file that could not be loaded holds no failed test, but it is one.
  const unloaded = testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && !assertionResults.length,
  );
  const skipped = numPendingTests + numTodoTests;
  const counts = `${numPassedTests} passed, ${numFailedTests + unloaded.length} failed`;
  return skipped === 0 ? counts : `${skipped} skipped, for want of what they name above\n${counts}`;
}
