import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failed, start } from '../processes.mjs';
import { root } from '../repository.mjs';
import { codePackages } from './pack.mjs';

/** Needs no installed packages. @throws {Failed} naming everything that a release lacks */
export async function requireReleasable() {
  const manifestOf = (/** @type {string} */ folder) =>
    JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  const { version } = manifestOf('packages/cli');
  const problems = codePackages
    .filter((folder) => manifestOf(folder).version !== version)
    .map((folder) => `${folder} has the version ${manifestOf(folder).version}, and packages/cli has ${version}.`);

  const changelog = readFileSync(join(root, 'packages/cli/CHANGELOG.md'), 'utf8');
  if (!changelog.includes(`\n## ${version}`)) problems.push(`packages/cli/CHANGELOG.md has no entry "## ${version}".`);

  const engine = manifestOf('packages/engine');
  const runtime = engine.devDependencies['onnxruntime-node'];
  for (const [name, wanted] of Object.entries(engine.optionalDependencies)) {
    if (wanted !== runtime)
      problems.push(`packages/engine needs ${name} ${wanted}, and onnxruntime-node is ${runtime}.`);
  }

  const { stdout: changes } = await start('git', ['status', '--porcelain'], { cwd: root, stdio: 'pipe' }).ended;
  if (changes !== '') problems.push(`There are uncommitted changes:\n${changes}`);
  if (problems.length > 0) throw new Failed(problems.join('\n'));
}
