import { resolve } from 'node:path';
import type { Config, PullRequirements } from '@gen3d/server';
import { type Command, Option } from 'commander';
import { closest, distance } from 'fastest-levenshtein';
import { showDownload } from '../bundles/download-progress.js';
import { type InstalledModel, installedModel, installedModels, sizeOf } from '../bundles/installed-bundles.js';
import { exitCode, Failed, Interrupted, UsageError } from '../exit/failure.js';
import { interruptible } from '../exit/interruption.js';
import { serverConfig } from '../server-options.js';
import { bytes, table } from '../terminal/format.js';
import { cross, print, printJson, say, tick } from '../terminal/terminal.js';

export function addModels(program: Command): void {
  const models = program.command('models').summary('the models on this machine').option('--json', 'print JSON');
  models
    .command('list')
    .summary('names, sizes, licences; which are in use, and which can be pulled')
    .action((_: unknown, command: Command) => list(command));
  models
    .command('pull')
    .summary('fetch a model')
    .description(
      'Fetch a model and test it. After an interruption, the same command resumes.\n' +
        'Proxies: HTTPS_PROXY, HTTP_PROXY, NO_PROXY. Hugging Face: HF_ENDPOINT for a mirror, HF_TOKEN.',
    )
    .argument('<model>', 'a name that `gen3d models list` shows, or the address of a manifest.json')
    .option('--from <file-or-url>', 'take the published weights from this file or address')
    .option('--allow-other-weights', 'accept a file with other weights of the same shapes, such as a fine-tune')
    .addOption(
      new Option('--precision <precision>', 'fp16 takes half the disk and GPU memory; the default is the file as it is')
        .choices(['fp32', 'fp16'])
        .default('fp32'),
    )
    .action((model: string, options: WeightsOptions, command: Command) => pull(model, options, command));
  models
    .command('verify')
    .summary("compare every file with its manifest's checksum, and every graph with what the manifest says of it")
    .argument('[name...]', 'default: all')
    .action((names: string[], _: unknown, command: Command) => verify(names, command));
  models
    .command('use')
    .summary('make a model the default')
    .description(
      'Make a model the default of this data directory. A flag, a variable and the config file still beat it.',
    )
    .argument('<model>', "a name that `gen3d models list` shows, a bundle's folder, or inflate")
    .action((model: string, _: unknown, command: Command) => use(model, command));
}

async function list(command: Command): Promise<void> {
  const { isPath } = await import('@gen3d/engine');
  const { modelDirs, readCatalogs } = await import('@gen3d/server');
  const config = await serverConfig(command);
  const dirs = modelDirs(config);
  const inUse = [config.bundle, config.matte];
  // One that was chosen by its folder is in none of the folders that are searched.
  const elsewhere = inUse.filter(isPath).map((folder) => installedModel(folder, resolve(folder)));
  const models = [...(await installedModels(dirs)), ...(await Promise.all(elsewhere))];
  if (command.optsWithGlobals().json === true) return printJson(models.map(describeModel));
  print(
    table(
      models.map((model) => {
        const use = inUse.includes(model.name) ? 'in use' : '';
        if ('problem' in model) return [model.name, 'damaged', '', use, model.problem];
        const { kind, licence } = model.bundle.manifest;
        return [model.name, kind, bytes(sizeOf(model.bundle)), use, `weights: ${licence.weights.licence}`];
      }),
    ),
  );
  for (const { manifest } of await readCatalogs(dirs)) {
    if (models.some(({ name }) => name === manifest.name)) continue;
    say(`\`gen3d models pull ${manifest.name}\` fetches ${manifest.title}, ${bytes(sizeOf({ manifest }))}`);
  }
}

/** What `--json` prints of a model, here and in `doctor`. */
export function describeModel(model: InstalledModel): object {
  const { name, directory } = model;
  if ('problem' in model) return { name, directory, problem: model.problem };
  const { kind, title, licence } = model.bundle.manifest;
  return { name, directory, kind, title, bytes: sizeOf(model.bundle), licence, notice: model.notice };
}

interface WeightsOptions {
  readonly from?: string;
  readonly allowOtherWeights?: boolean;
  readonly precision: 'fp32' | 'fp16';
}

async function pull(model: string, weights: WeightsOptions, command: Command): Promise<void> {
  const { testBundle } = await import('@gen3d/engine');
  const { modelDirs, pullBundle, pulledModelsDir } = await import('@gen3d/server');
  const config = await serverConfig(command);
  const { from, allowOtherWeights, precision } = weights;
  const options = {
    directory: pulledModelsDir(config),
    modelDirs: modelDirs(config),
    check: testBundle,
    checkpoint: { from, allowOtherWeights, precision: precision === 'fp32' ? undefined : precision },
    onStart: sayRequirements,
  };
  const display = await showDownload();
  const { manifest, directory } = await interruptible((signal) =>
    pullBundle(model, { ...options, onProgress: display.update, signal }),
  )
    .catch((error: unknown) => {
      throw error instanceof Interrupted ? new Interrupted('The same command goes on from there.') : error;
    })
    .finally(() => display.stop());

  const { name, title, kind, licence } = manifest;
  say(`${tick()} ${title}, ${bytes(sizeOf({ manifest }))}`);
  for (const [part, terms] of Object.entries({
    code: licence.code,
    weights: licence.weights,
    'training data': licence.trainingData,
  })) {
    say(`  ${part}: ${terms.licence}`);
  }
  say(`\`gen3d models use ${name}\` makes it the default ${kind === 'matte' ? 'matting model' : 'bundle'}`);
  if (command.optsWithGlobals().json === true) printJson(describeModel(await installedModel(name, directory)));
  else print(directory);
}

function sayRequirements({ title, download, disk, freeDisk, memory }: PullRequirements): void {
  const needs = memory === undefined ? '' : `; about ${bytes(memory)} of memory while it runs on a CPU`;
  say(`${title}: ${bytes(download)} to fetch; ${bytes(disk)} on disk, where ${bytes(freeDisk)} are free${needs}`);
}

async function verify(names: readonly string[], command: Command): Promise<void> {
  const { modelDirs } = await import('@gen3d/server');
  const models = await installedModels(modelDirs(await serverConfig(command)));
  for (const name of names) refuseUnknown(name, models);
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

function refuseUnknown(name: string, models: readonly InstalledModel[]): void {
  if (models.some((model) => model.name === name)) return;
  const similar = similarName(
    name,
    models.map((model) => model.name),
  );
  throw new UsageError(
    similar
      ? `There is no model called ${name}. Did you mean ${similar}?`
      : `There is no model called ${name}: \`gen3d models list\` shows those there are, \`gen3d models pull\` fetches others`,
  );
}

async function problemOf(model: InstalledModel): Promise<string | undefined> {
  if ('problem' in model) return model.problem;
  const { BundleError, checkBundle, verifyBundle } = await import('@gen3d/engine');
  try {
    await verifyBundle(model.bundle);
    await checkBundle(model.bundle);
    return undefined;
  } catch (error) {
    if (error instanceof BundleError) return error.message;
    throw error;
  }
}

async function use(model: string, command: Command): Promise<void> {
  const { chooseModels } = await import('@gen3d/server');
  const config = await serverConfig(command);
  const { kind, value } = await choiceOf(model, config);
  await chooseModels(config.dataDir, { [kind]: value });

  const inUse = (await serverConfig(command))[kind];
  if (command.optsWithGlobals().json === true) printJson({ [kind]: value });
  say(`${tick()} ${value} is the default ${kind === 'matte' ? 'matting model' : 'bundle'} of ${config.dataDir}`);
  say(
    inUse === value
      ? 'The next job of a running server uses it'
      : `But ${inUse} is in use: a flag, GEN3D_${kind.toUpperCase()} or a config file says so, and beats the default`,
  );
}

/** Which setting a model is for, and what to set it to. @throws if it is not there, or would not open */
async function choiceOf(model: string, config: Config): Promise<{ kind: 'bundle' | 'matte'; value: string }> {
  const { builtInBundle, checkBundle, findBundle, isPath } = await import('@gen3d/engine');
  const { modelDirs } = await import('@gen3d/server');
  if (model === builtInBundle) return { kind: 'bundle', value: model };
  const dirs = modelDirs(config);
  if (!isPath(model)) refuseUnknown(model, await installedModels(dirs));
  const bundle = await findBundle(model, dirs);
  await checkBundle(bundle);
  return {
    kind: bundle.manifest.kind === 'matte' ? 'matte' : 'bundle',
    value: isPath(model) ? bundle.directory : model,
  };
}

/** The one of the names that was probably meant, if any is near enough. */
function similarName(typed: string, names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined;
  const nearest = closest(typed.toLowerCase(), names);
  // As near as commander wants it for its own commands and options.
  const allowed = Math.min(3, 0.4 * Math.max(typed.length, nearest.length));
  return distance(typed.toLowerCase(), nearest) <= allowed ? nearest : undefined;
}
