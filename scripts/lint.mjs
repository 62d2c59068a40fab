// `npm run lint`: every linter over everything that git tracks. All run, also after one has failed; the summary at the
// end also names those that are not installed here and were skipped.
import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from './repository.mjs';

const shellScripts = execFileSync('git', ['ls-files', '*.sh', '.ci'], { cwd: root, encoding: 'utf8' })
  .trim()
  .split('\n');
const biome = join(root, 'node_modules/@biomejs/biome/bin/biome');
const depcruise = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');

const checks = [
  { name: 'biome', command: [process.execPath, biome, 'check', '--error-on-warnings'] },
  {
    name: 'dependency-cruiser',
    command: [
      process.execPath,
      depcruise,
      '--config',
      '.dependency-cruiser.cjs',
      'packages/*/src',
      'packages/*/test',
      'scripts',
      'examples',
    ],
  },
  { name: 'bash -n', command: ['bash', '-n'], eachOf: shellScripts },
  { name: 'shellcheck', command: ['shellcheck', ...shellScripts], optional: true },
  { name: 'ruff check', command: ['ruff', 'check', '--quiet'], optional: true },
  { name: 'ruff format', command: ['ruff', 'format', '--check', '--quiet'], optional: true },
];

const results = checks.map((check) => ({ ...check, outcome: outcomeOf(check) }));
for (const { name, outcome } of results) console.log(`${name}: ${outcome}`);
if (results.some(({ outcome }) => outcome === 'failed')) process.exitCode = 1;

function outcomeOf({ command: [program, ...args], eachOf = [undefined], optional = false }) {
  let failed = false;
  for (const file of eachOf) {
    const { status, error } = spawnSync(program, file ? [...args, file] : args, { cwd: root, stdio: 'inherit' });
    if (error?.code === 'ENOENT' && (optional || process.platform === 'win32')) return 'skipped, not installed here';
    if (error) throw error;
    failed ||= status !== 0;
  }
  return failed ? 'failed' : 'passed';
}
