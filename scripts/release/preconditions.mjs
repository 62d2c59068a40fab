import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failed, start } from '../processes.mjs';
import { root } from '../repository.mjs';

/** Needs no installed packages. @throws {Failed} naming everything that a release lacks */
export async function requireReleasable() {
  const manifestOf = (/** @type {string} */ name) =>
    JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8'));
  const { version } = manifestOf('cli');
  const problems = ['schema', 'sdk', 'engine', 'server']
    .filter((name) => manifestOf(name).version !== version)
    .map((name) => `packages/${name} has the version ${manifestOf(name).version}, and packages/cli has ${version}.`);

  const changelog = readFileSync(join(root, 'packages/cli/CHANGELOG.md'), 'utf8');
  if (!changelog.includes(`\n## ${version}`)) problems.push(`packages/cli/CHANGELOG.md has no entry "## ${version}".`);

  const runtime = manifestOf('engine').devDependencies['onnxruntime-node'];
  for (const [name, wanted] of Object.entries(manifestOf('engine').optionalDependencies)) {
    if (wanted !== runtime)
      problems.push(`packages/engine needs ${name} ${wanted}, and onnxruntime-node is ${runtime}.`);
  }

  const { stdout: changes } = await start('git', ['status', '--porcelain'], { cwd: root, stdio: 'pipe' }).ended;
  if (changes !== '') problems.push(`There are uncommitted changes:\n${changes}`);
  if (problems.length > 0) throw new Failed(problems.join('\n'));
}
