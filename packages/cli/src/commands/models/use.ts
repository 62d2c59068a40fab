import type { Config } from '@gen3d/server';
import type { Command } from 'commander';
import { serverConfig } from '../../server-options.js';
import { printJson, say, tick } from '../../terminal/terminal.js';
import { noun } from './pull.js';
import { requireInstalled } from './require-installed.js';

export function addUse(models: Command): void {
  models
    .command('use')
    .summary('set the default bundle')
    .description('Set the default bundle of this data directory. Flags, variables and the config file override it.')
    .argument('<bundle>', 'a name from `gen3d models list`, or the folder of a bundle')
    .action((bundle: string, _: unknown, command: Command) => use(bundle, command));
}

async function use(nameOrPath: string, command: Command): Promise<void> {
  const { chooseBundles } = await import('@gen3d/server');
  const config = await serverConfig(command);
  const { kind, value } = await choiceOf(nameOrPath, config);
  await chooseBundles(config.dataDir, { [kind]: value });

  const inUse = (await serverConfig(command))[kind];
  if (command.optsWithGlobals().json === true) printJson({ [kind]: value });
  say(`${tick()} ${value} is the default ${noun(kind)} of ${config.dataDir}`);
  say(
    inUse === value
      ? 'Restart a running server to use it'
      : `But ${inUse} is in use: a flag, GEN3D_${kind.toUpperCase()} or a config file overrides the default`,
  );
}

/** Finds which setting a bundle belongs to, and its value. @throws if the bundle does not exist or cannot be loaded */
async function choiceOf(nameOrPath: string, config: Config): Promise<{ kind: 'bundle' | 'matte'; value: string }> {
  const { checkBundle, findBundle, isPath } = await import('@gen3d/engine');
  const { builtInBundle, installedBundles, modelDirs } = await import('@gen3d/engine/bundles');
  if (nameOrPath === builtInBundle) return { kind: 'bundle', value: nameOrPath };
  const directories = modelDirs(config);
  if (!isPath(nameOrPath)) await requireInstalled(nameOrPath, await installedBundles(directories), config);
  const bundle = await findBundle(nameOrPath, directories);
  await checkBundle(bundle);
  return {
    kind: bundle.manifest.kind === 'matte' ? 'matte' : 'bundle',
    value: isPath(nameOrPath) ? bundle.directory : nameOrPath,
  };
}
