import type { InstalledBundle } from '@gen3d/engine/bundles';
import type { Command } from 'commander';
import { exitCode, Failed } from '../../exit/failure.js';
import { serverConfig } from '../../server-options.js';
import { cross, printJson, say, tick } from '../../terminal/terminal.js';
import { requireInstalled } from './require-installed.js';

export function addVerify(models: Command): void {
  models
    .command('verify')
    .summary('compare all files and networks with the manifest')
    .description(
      'Compare all files and networks with the manifest. To run the networks of a bundle, use `gen3d doctor --bundle NAME`.',
    )
    .argument('[bundle...]', 'names of installed bundles; default: all')
    .action((names: string[], _: unknown, command: Command) => verify(names, command));
}

async function verify(names: readonly string[], command: Command): Promise<void> {
  const { installedBundles, modelDirs } = await import('@gen3d/engine/bundles');
  const config = await serverConfig(command);
  const bundles = await installedBundles(modelDirs(config));
  for (const name of names) await requireInstalled(name, bundles, config);
  const chosen = names.length === 0 ? bundles : bundles.filter(({ name }) => names.includes(name));
  const results: Array<{ name: string; problem?: string }> = [];
  for (const installed of chosen) {
    const { name } = installed;
    const problem = await problemOf(installed);
    say(problem === undefined ? `${tick()} ${name}` : `${cross()} ${name}  ${problem}`);
    results.push({ name, ...(problem !== undefined && { problem }) });
  }
  if (command.optsWithGlobals().json === true) printJson(results);
  if (results.some(({ problem }) => problem !== undefined)) throw new Failed(exitCode.failed);
}

async function problemOf(installed: InstalledBundle): Promise<string | undefined> {
  if ('problem' in installed) return installed.problem;
  const { BundleError, checkBundle, verifyBundle } = await import('@gen3d/engine');
  try {
    await verifyBundle(installed.bundle);
    await checkBundle(installed.bundle);
    return undefined;
  } catch (error) {
    if (error instanceof BundleError) return error.message;
    throw error;
  }
}
