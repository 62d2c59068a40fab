import type { Command } from 'commander';
import { exitCode } from '../exit-code.js';
import { Failed, UsageError } from '../failure.js';
import { bytes, table } from '../format.js';
import { type InstalledModel, installedModels, sizeOf } from '../installed-models.js';
import { serverConfig } from '../server-options.js';
import { cross, print, printJson, say, tick } from '../terminal.js';

export function addModels(program: Command): void {
  const models = program.command('models').summary('the models on this machine').option('--json', 'print JSON');
  models
    .command('list')
    .summary('names, sizes, licences')
    .action((_: unknown, command: Command) => list(command));
  models
    .command('verify')
    .summary("compare every file with its manifest's checksum")
    .argument('[name...]', 'default: all')
    .action((names: string[], _: unknown, command: Command) => verify(names, command));
}

async function found(command: Command): Promise<InstalledModel[]> {
  const { modelDirs } = await import('@gen3d/server');
  return installedModels(modelDirs(await serverConfig(command)));
}

async function list(command: Command): Promise<void> {
  const models = await found(command);
  if (command.optsWithGlobals().json === true) return printJson(models.map(describeModel));
  print(
    table(
      models.map((model) => {
        if ('problem' in model) return [model.name, 'damaged', '', model.problem];
        const { kind, licence } = model.bundle.manifest;
        return [model.name, kind, bytes(sizeOf(model.bundle)), `weights: ${licence.weights.licence}`];
      }),
    ),
  );
}

/** What `--json` prints of a model, here and in `doctor`. */
export function describeModel(model: InstalledModel): object {
  const { name, directory } = model;
  if ('problem' in model) return { name, directory, problem: model.problem };
  const { kind, title, licence } = model.bundle.manifest;
  return { name, directory, kind, title, bytes: sizeOf(model.bundle), licence, notice: model.notice };
}

async function verify(names: readonly string[], command: Command): Promise<void> {
  const models = await found(command);
  for (const name of names) {
    if (!models.some((model) => model.name === name)) {
      throw new UsageError(`There is no model called ${name}: \`gen3d models list\` shows those there are`);
    }
  }
  const chosen = names.length === 0 ? models : models.filter(({ name }) => names.includes(name));
  const results: Array<{ name: string; problem?: string }> = [];
  for (const model of chosen) {
    const problem = await problemOf(model);
    results.push({ name: model.name, ...(problem !== undefined && { problem }) });
    if (problem === undefined) say(`${tick()} ${model.name}`);
    else say(`${cross()} ${model.name}  ${problem}`);
  }
  if (command.optsWithGlobals().json === true) printJson(results);
  if (results.some(({ problem }) => problem !== undefined)) throw new Failed(exitCode.failed);
}

async function problemOf(model: InstalledModel): Promise<string | undefined> {
  if ('problem' in model) return model.problem;
  const { BundleError, verifyBundle } = await import('@gen3d/engine');
  try {
    await verifyBundle(model.bundle);
    return undefined;
  } catch (error) {
    if (error instanceof BundleError) return error.message;
    throw error;
  }
}
