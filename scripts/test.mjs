// `npm test`, `npm run test:system` (--system) and what CI runs (--all: both). Installs and builds first, also on a fresh
// clone. Other arguments go to vitest: the paths of the tests to run, for example. Without any, the checks of a tier run
// at the same time as its tests. The last line is the number of tests, for people and for CI.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { Failed, main, start } from './processes.mjs';
import { requireNode, root } from './repository.mjs';

/** @typedef {import('vitest/reporters').JsonTestResults} Report */

/** The Vitest projects of a tier, and the npm scripts that check the sources beside them. */
const quick = { projects: ['gen3d'], checks: ['typecheck', 'lint'] };
const system = { projects: ['system', 'postgres'], checks: ['check-packages'] };

const nameOf = (/** @type {{ name: string }} */ { name }) => relative(root, name);

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
  /** @type {string[]} */
  const failed = [];
  for (const { projects, checks: scripts } of tiers) {
    const checks = vitestArguments.length === 0 ? check(scripts) : undefined;
    const { code, report } = await runVitest(projects, join(folder, `${projects[0]}.json`));
    const failedTests = failuresIn(report);
    failed.push(...failedTests);
    if (code !== 0 && failedTests.length === 0)
      failed.push('an error outside of the tests: see Unhandled Errors above');
    for (const { script, code, both } of (await checks) ?? []) {
      if (code !== 0) failed.push(`npm run ${script}`);
      console.log(`${both}npm run ${script} ${code === 0 ? 'passed' : 'failed'}.`);
    }
    reports.push(report);
  }
  if (failed.length > 0) process.exitCode = 1;
  console.log(summary(reports, failed));
});

/**
 * @param {string} script
 * @param {'inherit' | 'pipe'} stdio
 */
function npmRun(script, stdio) {
  return start('npm', ['run', '--silent', script], { cwd: root, stdio, shell: true });
}

/**
 * Runs the checks one after the other. The caller prints their output, so that it does not mix with that of the tests.
 * @param {readonly string[]} scripts
 */
async function check(scripts) {
  const results = [];
  for (const script of scripts) {
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
  const { code, signal } = await start(process.execPath, [vitest, ...args], { cwd: root, stdio: 'inherit' }).ended;
  if (!existsSync(file)) throw new Failed(`Vitest ended with ${signal ?? `code ${code}`} before it wrote its report.`);
  /** @type {Report} */
  const report = JSON.parse(readFileSync(file, 'utf8'));
  return { code, report };
}

/** @param {Report} report */
function failuresIn({ testResults }) {
  return testResults.flatMap((file) => {
    const tests = file.assertionResults.filter(({ status }) => status === 'failed');
    // A file that failed to load, or whose `beforeAll` failed, has no failed test. It counts as one.
    if (file.status === 'failed' && tests.length === 0) return [`${nameOf(file)}: ${file.message}`];
    return tests.map(({ fullName }) => `${nameOf(file)}: ${fullName}`);
  });
}

/**
 * @param {readonly Report[]} reports
 * @param {readonly string[]} failed
 */
function summary(reports, failed) {
  const files = reports.flatMap(({ testResults }) => testResults);
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
  const passed = reports.reduce((total, { numPassedTests }) => total + numPassedTests, 0);
  return [
    'The slowest files:',
    ...slowest.map(({ name, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${name}`),
    ...(skipped.length === 0 ? [] : [`${skipped.length} skipped:`, ...skipped.map((test) => `  ${test}`)]),
    ...(failed.length === 0 ? [] : ['Failed:', ...failed.map((test) => `  ${test}`)]),
    `${passed} passed, ${failed.length} failed`,
  ].join('\n');
}
