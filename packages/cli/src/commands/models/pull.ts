import type { PullRequirements } from '@gen3d/weights';
import { type Command, Option } from 'commander';
import { describeBundle } from '../../bundles/describe-bundle.js';
import { Interrupted } from '../../exit/failure.js';
import { interruptible } from '../../exit/interruption.js';
import { serverConfig } from '../../server-options.js';
import { bytes } from '../../terminal/format.js';
import { showDownload } from '../../terminal/progress.js';
import { print, printJson, say, shownName, tick } from '../../terminal/terminal.js';

export function addPull(models: Command): void {
  models
    .command('pull')
    .summary('download a bundle')
    .description(
      'Download and test a bundle. After an interruption, the same command resumes the download.\n' +
        'Supports HTTPS_PROXY, HTTP_PROXY and NO_PROXY, and for Hugging Face HF_ENDPOINT (a mirror) and HF_TOKEN.',
    )
    .argument('<bundle>', 'a name from `gen3d models list`')
    .option(
      '--from <file>',
      'use this copy of the published weights, or the folder with them if there are several files',
    )
    .addOption(
      new Option('--precision <precision>', 'fp16 halves the disk and GPU memory; fp32 keeps the published weights')
        .choices(['fp32', 'fp16'])
        .default('fp32'),
    )
    .action((bundle: string, options: WeightsOptions, command: Command) => pull(bundle, options, command));
}

interface WeightsOptions {
  readonly from?: string;
  readonly precision: 'fp32' | 'fp16';
}

async function pull(name: string, weights: WeightsOptions, command: Command): Promise<void> {
  const { testBundle } = await import('@gen3d/engine');
  const { installedBundle, modelDirs, pulledModelsDir, sizeOf } = await import('@gen3d/engine/bundles');
  const { pullBundle } = await import('@gen3d/weights');
  const config = await serverConfig(command);
  const { from, precision } = weights;
  const options = {
    directory: pulledModelsDir(config),
    modelDirs: modelDirs(config),
    check: testBundle,
    checkpoint: { from, precision: precision === 'fp32' ? undefined : precision },
    onStart: (requirements: PullRequirements) => sayRequirements(requirements, from),
    device: config.device,
  };
  const display = await showDownload();
  const { manifest, directory } = await interruptible((signal) =>
    pullBundle(name, { ...options, onProgress: display.update, signal }),
  )
    .catch((error: unknown) => {
      throw error instanceof Interrupted ? new Interrupted('Run the same command to resume.') : error;
    })
    .finally(() => display.stop());

  const { title, kind, license } = manifest;
  say(`${tick()} ${title}, ${bytes(sizeOf({ manifest }))}`);
  say(`  code: ${license.code.license}`);
  say(`  weights: ${license.weights.license}`);
  say(`  training data: ${license.trainingData.license}`);
  say(`\`gen3d models use ${name}\` makes it the default ${noun(kind)}`);
  if (command.optsWithGlobals().json === true) printJson(await describeBundle(await installedBundle(name, directory)));
  else print(directory);
}

/** Names a kind of bundle in a sentence. */
export const noun = (kind: string) => (kind === 'matte' ? 'matting bundle' : 'bundle');

function sayRequirements(
  { title, download, disk, freeDisk, memory, gpuMemory }: PullRequirements,
  from: string | undefined,
): void {
  const source = from === undefined ? 'to download' : `to read from ${shownName(from)}`;
  const gpu = gpuMemory === undefined ? '' : `. On a GPU, it uses about ${bytes(gpuMemory)} of its memory`;
  const ram = memory === undefined ? '' : `. On a CPU, it uses about ${bytes(memory)} of memory`;
  say(`${title}: ${bytes(download)} ${source}, ${bytes(disk)} on disk (${bytes(freeDisk)} free)${gpu}${ram}`);
}
