// `npm test`, `npm run test:system` (--system) and what CI runs (--all: both). Installs and builds first, also on a fresh
// clone. Other arguments go to vitest: the paths of the tests to run, for example. Without any, `npm test` checks types,
// code style and packages at the same time. The last line is the number of tests, for people and for CI.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { Failed, main, start } from './processes.mjs';
import { root } from './repository.mjs';
import { requireNode } from './require-node.mjs';

/** @typedef {import('vitest/reporters').JsonTestResults} Report */

const quick = ['gen3d', 'isolated'];
const system = ['system', 'postgres', 'node-sqlite'];

requireNode();
const flags = process.argv.slice(2).filter((argument) => ['--system', '--all'].includes(argument));
const vitestArguments = process.argv.slice(2).filter((argument) => !flags.includes(argument));
const tiers = flags.includes('--all') ? [quick, system] : [flags.includes('--system') ? system : quick];

await main(async (atEnd) => {
  const folder = mkdtempSync(join(tmpdir(), 'gen3d-test-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  for (const script of ['setup', 'build']) {
    const { code } = await npmRun(script, 'inherit').ended;
    if (code !== 0) throw new Failed(`npm run ${script} failed.`);
  }
  /** @type {Report[]} */
  const reports = [];
  for (const projects of tiers) {
    const checks = projects === quick && vitestArguments.length === 0 ? check() : undefined;
    const { code, report } = await runVitest(projects, join(folder, `${projects[0]}.json`));
    if (code !== 0) process.exitCode = 1;
    for (const { script, code, both } of (await checks) ?? []) {
      if (code !== 0) process.exitCode = 1;
      console.log(`${both}npm run ${script} ${code === 0 ? 'passed' : 'failed'}.`);
    }
    reports.push(report);
  }
  console.log(summary(reports));
});

/**
 * @param {string} script
 * @param {'inherit' | 'pipe'} stdio
 */
function npmRun(script, stdio) {
  return start('npm', ['run', '--silent', script], { cwd: root, stdio, shell: true });
}

/** Runs the checks one after the other. The caller prints their output, so that it does not mix with that of the tests. */
async function check() {
  const results = [];
  for (const script of ['typecheck', 'lint', 'check-packages']) {
    results.push({ script, ...(await npmRun(script, 'pipe').ended) });
  }
  return results;
}

/**
 * @param {readonly string[]} projects
 * @param {string} file of the report
 */
async function runVitest(projects, file) {
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const args = ['run', ...projects.map((name) => `--project=${name}`), ...reporters, ...vitestArguments];
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const { code } = await start(process.execPath, [vitest, ...args], { cwd: root, stdio: 'inherit' }).ended;
  /** @type {Report} */
  const report = JSON.parse(readFileSync(file, 'utf8'));
  return { code, report };
}

/** @param {readonly Report[]} reports */
function summary(reports) {
  const files = reports.flatMap(({ testResults }) => testResults);
  const nameOf = (/** @type {{ name: string }} */ { name }) => relative(root, name);
  const slowest = files
    .map((file) => ({ name: nameOf(file), seconds: (file.endTime - file.startTime) / 1000 }))
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, 10);
  // A filter by name skips all other tests.
  const skipped = (vitestArguments.length > 0 ? [] : files).flatMap((file) =>
    file.assertionResults
      .filter(({ status }) => status !== 'passed' && status !== 'failed')
      .map(({ fullName }) => `${nameOf(file)}: ${fullName}`),
  );
  // vitest lists a file that failed to load without any failed test. Count it as one.
  const unloaded = files.filter(({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0);
  const sum = (/** @type {'numPassedTests' | 'numFailedTests'} */ key) =>
    reports.reduce((total, report) => total + report[key], 0);
  return [
    'The slowest files:',
    ...slowest.map(({ name, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${name}`),
    ...(skipped.length === 0 ? [] : [`${skipped.length} skipped:`, ...skipped.map((test) => `  ${test}`)]),
    `${sum('numPassedTests')} passed, ${sum('numFailedTests') + unloaded.length} failed`,
  ].join('\n');
}
