import { resolve } from 'node:path';
import type { Command } from 'commander';
import { describeBundle } from '../../bundles/describe-bundle.js';
import { serverConfig } from '../../server-options.js';
import { bytes, table } from '../../terminal/format.js';
import { print, printJson, say } from '../../terminal/terminal.js';

export function addModelsList(models: Command): void {
  models
    .command('list')
    .summary('list installed and available bundles')
    .action((_: unknown, command: Command) => list(command));
}

async function list(command: Command): Promise<void> {
  const { isPath } = await import('@gen3d/engine');
  const { builtInBundle, installHint, installedBundle, installedBundles, modelDirs, packagedBundles, sizeOf } =
    await import('@gen3d/engine/bundles');
  const { readCatalogs } = await import('@gen3d/weights/offers');
  const config = await serverConfig(command);
  const directories = modelDirs(config);
  const inUse = [config.bundle, config.matte];
  // Bundles that are configured by path are outside the searched folders.
  const byPath = inUse.filter(isPath).map((folder) => installedBundle(folder, resolve(folder)));
  const bundles = [...(await installedBundles(directories)), ...(await Promise.all(byPath))];
  if (command.optsWithGlobals().json === true) return printJson(await Promise.all(bundles.map(describeBundle)));

  const useOf = (name: string) => (inUse.includes(name) ? 'in use' : '');
  const rows = bundles.map((installed) => {
    const { name } = installed;
    if ('problem' in installed) return [name, 'damaged', '', useOf(name), installed.problem];
    const { kind, license } = installed.bundle.manifest;
    return [name, kind, bytes(sizeOf(installed.bundle)), useOf(name), `weights: ${license.weights.license}`];
  });
  print(table([...rows, [builtInBundle, 'reconstruction', 'built in', useOf(builtInBundle), 'no weights']]));
  for (const name of packagedBundles) {
    if (!bundles.some((installed) => installed.name === name)) say(`${name} is not installed. ${installHint(name)}`);
  }
  for (const { manifest } of await readCatalogs(directories)) {
    if (bundles.some(({ name }) => name === manifest.name)) continue;
    say(`\`gen3d models pull ${manifest.name}\` downloads ${manifest.title}, ${bytes(sizeOf({ manifest }))}`);
  }
}
