// `npm run lint`: runs every linter over the repository, also after one has failed. Ends with a summary, which names
// the optional linters that are not installed here.
import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from './repository.mjs';

const shellScripts = execFileSync('git', ['ls-files', '*.sh', '.ci'], { cwd: root, encoding: 'utf8' })
  .trim()
  .split('\n');
const biome = join(root, 'node_modules/@biomejs/biome/bin/biome');
const sources = ['packages/*/src', 'packages/*/test', 'scripts', 'examples', 'models/lab'];
const depcruise = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');

/**
 * @typedef {object} Check
 * @property {string} name
 * @property {readonly string[]} command
 * @property {readonly string[]} [eachOf] files, for a command that takes one
 * @property {boolean} [optional] skipped where the command is not installed
 */

/** @type {readonly Check[]} */
const checks = [
  { name: 'biome', command: [process.execPath, biome, 'check', '--error-on-warnings'] },
  {
    name: 'dependency-cruiser',
    command: [process.execPath, depcruise, '--config', '.dependency-cruiser.cjs', ...sources],
  },
  { name: 'line budget', command: [process.execPath, join(root, 'scripts/line-budget.mjs')] },
  { name: 'actionlint', command: [process.execPath, join(root, 'scripts/lint-workflows.mjs')] },
  { name: 'bash -n', command: ['bash', '-n'], eachOf: shellScripts, optional: process.platform === 'win32' },
  { name: 'shellcheck', command: ['shellcheck', ...shellScripts], optional: true },
  { name: 'ruff check', command: ['ruff', 'check', '--quiet'], optional: true },
  { name: 'ruff format', command: ['ruff', 'format', '--check', '--quiet'], optional: true },
];

const results = checks.map((check) => ({ name: check.name, outcome: outcomeOf(check) }));
for (const { name, outcome } of results) console.log(`${name}: ${outcome}`);
if (results.some(({ outcome }) => outcome === 'failed')) process.exitCode = 1;

/** @param {Check} check */
function outcomeOf({ command, eachOf, optional = false }) {
  const [program = '', ...args] = command;
  const argumentLists = eachOf ? eachOf.map((file) => [...args, file]) : [args];
  let passed = true;
  for (const list of argumentLists) {
    const { status, error } = spawnSync(program, list, { cwd: root, stdio: 'inherit' });
    if (optional && error && 'code' in error && error.code === 'ENOENT') return 'skipped, not installed';
    if (error) throw error;
    passed &&= status === 0;
  }
  return passed ? 'passed' : 'failed';
}
