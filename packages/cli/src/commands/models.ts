import { resolve } from 'node:path';
import type { Bundle, SelfTest } from '@gen3d/engine';
import type { InstalledBundle } from '@gen3d/engine/bundles';
import type { Config } from '@gen3d/server';
import type { PullRequirements } from '@gen3d/weights';
import { type Command, Option } from 'commander';
import { describeBundle } from '../bundles/bundle-offers.js';
import { errorMessage, exitCode, Failed, Interrupted, UsageError } from '../exit/failure.js';
import { interruptible } from '../exit/interruption.js';
import { isUrl } from '../jobs/photo-input.js';
import { serverConfig } from '../server-options.js';
import { bytes, similarName, table } from '../terminal/format.js';
import { nextCommand } from '../terminal/next-command.js';
import { showDownload } from '../terminal/progress.js';
import { cross, print, printJson, say, shownName, tick } from '../terminal/terminal.js';

export function addModels(program: Command): void {
  const models = program.command('models').summary('manage bundles').option('--json', 'print JSON');
  models
    .command('list')
    .summary('list installed and available bundles')
    .action((_: unknown, command: Command) => list(command));
  models
    .command('pull')
    .summary('download a bundle')
    .description(
      'Download and test a bundle. After an interruption, the same command resumes the download.\n' +
        'Supports HTTPS_PROXY, HTTP_PROXY and NO_PROXY, and for Hugging Face HF_ENDPOINT (a mirror) and HF_TOKEN.',
    )
    .argument('<bundle>', 'a name from `gen3d models list`, or the URL of a manifest.json')
    .option('--from <file-or-url>', 'use the published weights in this file or at this URL')
    .option('--allow-other-weights', 'accept other weights of the same shapes, such as a fine-tuned checkpoint')
    .addOption(
      new Option(
        '--precision <precision>',
        'fp16 halves the disk and GPU memory; int8 is for CPUs; fp32 keeps the published weights',
      )
        .choices(['fp32', 'fp16', 'int8'])
        .default('fp32'),
    )
    .action((bundle: string, options: WeightsOptions, command: Command) => pull(bundle, options, command));
  models
    .command('verify')
    .summary('compare all files and networks with the manifest')
    .description(
      'Compare all files and networks with the manifest. With --self-test, also run the networks on the device that\n' +
        'GEN3D_DEVICE names (default: the first GPU that works), and list the checks that this machine cannot run.',
    )
    .argument('[bundle...]', 'names of installed bundles; default: all')
    .option('--self-test', 'also run the networks, to check a bundle on a new machine')
    .action((names: string[], options: VerifyOptions, command: Command) => verify(names, options, command));
  models
    .command('use')
    .summary('set the default bundle')
    .description('Set the default bundle of this data directory. Flags, variables and the config file override it.')
    .argument('<bundle>', 'a name from `gen3d models list`, or the folder of a bundle')
    .action((bundle: string, _: unknown, command: Command) => use(bundle, command));
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
    say(
      `\`${nextCommand(`models pull ${manifest.name}`)}\` downloads ${manifest.title}, ${bytes(sizeOf({ manifest }))}`,
    );
  }
}

interface WeightsOptions {
  readonly from?: string;
  readonly allowOtherWeights?: boolean;
  readonly precision: 'fp32' | 'fp16' | 'int8';
}

async function pull(nameOrUrl: string, weights: WeightsOptions, command: Command): Promise<void> {
  const { testBundle } = await import('@gen3d/engine');
  const { installedBundle, modelDirs, pulledModelsDir, sizeOf } = await import('@gen3d/engine/bundles');
  const { pullBundle } = await import('@gen3d/weights');
  const config = await serverConfig(command);
  const { from, allowOtherWeights, precision } = weights;
  const options = {
    directory: pulledModelsDir(config),
    modelDirs: modelDirs(config),
    check: testBundle,
    checkpoint: { from, allowOtherWeights, precision: precision === 'fp32' ? undefined : precision },
    onStart: (requirements: PullRequirements) => sayRequirements(requirements, from),
    device: config.device,
  };
  const display = await showDownload();
  const { manifest, directory } = await interruptible((signal) =>
    pullBundle(nameOrUrl, { ...options, onProgress: display.update, signal }),
  )
    .catch((error: unknown) => {
      throw error instanceof Interrupted ? new Interrupted('Run the same command to resume.') : error;
    })
    .finally(() => display.stop());

  const { name, title, kind, license } = manifest;
  say(`${tick()} ${title}, ${bytes(sizeOf({ manifest }))}`);
  say(`  code: ${license.code.license}`);
  say(`  weights: ${license.weights.license}`);
  say(`  training data: ${license.trainingData.license}`);
  say(`\`${nextCommand(`models use ${name}`)}\` makes it the default ${noun(kind)}`);
  if (command.optsWithGlobals().json === true) printJson(await describeBundle(await installedBundle(name, directory)));
  else print(directory);
}

const noun = (kind: string) => (kind === 'matte' ? 'matting bundle' : 'bundle');

function sayRequirements(
  { title, download, disk, freeDisk, memory, gpuMemory }: PullRequirements,
  from: string | undefined,
): void {
  const source = from === undefined || isUrl(from) ? 'to download' : `to read from ${shownName(from)}`;
  const gpu = gpuMemory === undefined ? '' : `. On a GPU, it uses about ${bytes(gpuMemory)} of its memory`;
  const ram = memory === undefined ? '' : `. On a CPU, it uses about ${bytes(memory)} of memory`;
  say(`${title}: ${bytes(download)} ${source}, ${bytes(disk)} on disk (${bytes(freeDisk)} free)${gpu}${ram}`);
}

interface VerifyOptions {
  readonly selfTest?: boolean;
}

async function verify(names: readonly string[], { selfTest = false }: VerifyOptions, command: Command): Promise<void> {
  const { installedBundles, modelDirs } = await import('@gen3d/engine/bundles');
  const config = await serverConfig(command);
  const bundles = await installedBundles(modelDirs(config));
  for (const name of names) await requireInstalled(name, bundles, config, selfTest);
  const chosen = names.length === 0 ? bundles : bundles.filter(({ name }) => names.includes(name));
  const results: Array<{ name: string; problem?: string; selfTest?: TestedCheck[] }> = [];
  for (const installed of chosen) {
    const { name } = installed;
    const problem = await problemOf(installed);
    say(problem === undefined ? `${tick()} ${name}` : `${cross()} ${name}  ${problem}`);
    const tested = selfTest && !('problem' in installed) && problem === undefined;
    results.push({
      name,
      ...(problem !== undefined && { problem }),
      ...(tested && { selfTest: await runSelfTests(installed.bundle, config.device) }),
    });
  }
  if (command.optsWithGlobals().json === true) printJson(results);
  const failed = results.some(({ problem, selfTest }) => problem !== undefined || selfTest?.some(isFailed));
  if (failed) throw new Failed(exitCode.failed);
}

interface TestedCheck {
  readonly check: string;
  /** Absent if the check was skipped. */
  readonly passed?: boolean;
  readonly detail: string;
}

const isFailed = ({ passed }: TestedCheck): boolean => passed === false;

async function runSelfTests(bundle: Bundle, device: Config['device']): Promise<TestedCheck[]> {
  const { selfTests } = await import('@gen3d/engine');
  const results: TestedCheck[] = [];
  for (const test of (await selfTests(bundle, device)).tests) {
    const { name: check, skipped, run } = test;
    if (skipped !== undefined) {
      results.push({ check, detail: skipped });
      say(plannedLine(test));
      continue;
    }
    const { passed, detail } = await run().catch((error: unknown) => ({
      passed: false,
      detail: errorMessage(error),
    }));
    results.push({ check, passed, detail });
    say(`  ${passed ? tick() : cross()} ${check}: ${detail}`);
  }
  return results;
}

/** Names a self-test that has not run, and the reason if it cannot run here. */
const plannedLine = ({ name, skipped }: Pick<SelfTest, 'name' | 'skipped'>) =>
  `  - ${name}${skipped === undefined ? '' : `: not run, ${skipped}`}`;

/** @throws {UsageError} if the bundle is not installed, with the command that installs it and the self-tests to expect */
async function requireInstalled(
  name: string,
  bundles: readonly InstalledBundle[],
  config: Config,
  selfTest = false,
): Promise<void> {
  const { installHint, modelDirs, sizeOf } = await import('@gen3d/engine/bundles');
  const { readCatalogs } = await import('@gen3d/weights/offers');
  if (bundles.some((installed) => installed.name === name)) return;
  const installation = installHint(name);
  if (installation) throw new UsageError(`The bundle ${name} is not installed. ${installation}`);
  const available = await readCatalogs(modelDirs(config));
  const entry = available.find(({ manifest }) => manifest.name === name);
  if (entry) {
    const { manifest } = entry;
    const first = `First download ${manifest.title} with \`${nextCommand(`models pull ${name}`)}\` (${bytes(sizeOf(entry))})`;
    const message = `The bundle ${name} is not installed. ${first}`;
    if (!selfTest) throw new UsageError(message);
    const { selfTests } = await import('@gen3d/engine');
    const { tests } = await selfTests(entry, config.device);
    throw new UsageError([`${message}. Then this command runs these checks:`, ...tests.map(plannedLine)].join('\n'));
  }
  const similar = similarName(name, [
    ...bundles.map((installed) => installed.name),
    ...available.map(({ manifest }) => manifest.name),
  ]);
  const hint = similar
    ? `Did you mean ${similar}?`
    : `\`${nextCommand('models list')}\` shows the installed bundles, and \`gen3d models pull\` downloads others`;
  throw new UsageError(`No bundle is named ${name}. ${hint}`);
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
      ? 'A running server uses it for its next job'
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
