// Finds what the repository lacks for a release, as far as this can be checked without npm and installed packages.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../repository.mjs';
import { codePackages, modelPackages } from './pack.mjs';

const manifestOf = (/** @type {string} */ folder) =>
  JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));

/** Returns a sentence for each version or name that does not match the others. */
export function releaseProblems() {
  const { version, mcpName, repository } = manifestOf('packages/cli');
  const problems = codePackages
    .filter((folder) => manifestOf(folder).version !== version)
    .map((folder) => `${folder} has the version ${manifestOf(folder).version}, and packages/cli has ${version}.`);

  const changelog = readFileSync(join(root, 'packages/cli/CHANGELOG.md'), 'utf8');
  if (!changelog.includes(`\n## ${version}`)) problems.push(`packages/cli/CHANGELOG.md has no entry "## ${version}".`);

  const server = JSON.parse(readFileSync(join(root, 'server.json'), 'utf8'));
  if (server.name !== mcpName) problems.push(`server.json has the name ${server.name}, and packages/cli ${mcpName}.`);
  const versions = new Set([server, ...server.packages].map((one) => one.version));
  for (const other of versions) {
    if (other !== version) problems.push(`server.json has the version ${other}, and packages/cli has ${version}.`);
  }

  const [, owner] = /github\.com[/:]([^/]+)/.exec(repository?.url) ?? [];
  if (owner !== undefined && !mcpName.startsWith(`io.github.${owner}/`))
    problems.push(`packages/cli has the mcpName ${mcpName}, and belongs to io.github.${owner}/.`);

  const { devDependencies, optionalDependencies } = manifestOf('packages/engine');
  const runtime = devDependencies['onnxruntime-node'];
  for (const [name, wanted] of Object.entries(optionalDependencies)) {
    if (name.startsWith('@gen3d/onnxruntime-') && wanted !== runtime)
      problems.push(`packages/engine needs ${name} ${wanted}, and onnxruntime-node is ${runtime}.`);
  }
  return problems;
}

/** Returns the published manifests that do not name the repository. */
export const withoutRepository = () =>
  [...codePackages, ...modelPackages]
    .map(manifestOf)
    .filter(({ repository }) => !repository?.url)
    .map(({ name }) => name);
