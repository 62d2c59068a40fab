import { fileNameOf } from '@gen3d/schema/rules';
import { isTerminal, JobFailedError } from '@gen3d/sdk';
import type { Command } from 'commander';
import { type ServerOptions, withClient } from '../connection/client.js';
import { exitCode, Failed, UsageError } from '../exit/failure.js';
import { findJob } from '../jobs/account-jobs.js';
import { downloadModel, resumeCommand } from '../jobs/job.js';
import { printModel } from '../jobs/model-file.js';
import { addModelOptions, modelOptionWords } from '../jobs/model-options.js';
import { extensions, planOutputs, type ResultOptions } from '../jobs/output-file.js';

type DownloadOptions = ServerOptions & ResultOptions & { readonly thumbnail?: boolean };

export function addDownload(program: Command): void {
  const command = program
    .command('download')
    .summary('download the model of a finished job')
    .description(
      'Download the model of a finished job to NAME.glb, or its thumbnail to NAME-thumbnail.jpg.\n' +
        'NAME is the name of the photo, or the id of a job without one.',
    )
    .argument('<id>', "the job's id, or a unique prefix of it")
    .option('-o, --output <path>', `the ${extensions()} to write, or a folder; - for stdout`)
    .option('--thumbnail', 'download the JPEG thumbnail instead of the model')
    .option('-f, --force', 'overwrite an existing file');
  addModelOptions(command).action((id: string, _: unknown, command: Command) =>
    download(id, command.optsWithGlobals()),
  );
}

async function download(id: string, { thumbnail, ...options }: DownloadOptions): Promise<void> {
  const words = modelOptionWords(options);
  if (thumbnail && words !== '') throw new UsageError(`A thumbnail is an image, so${words} does not apply to it`);
  await withClient(options, async (client, signal) => {
    const task = await findJob(client, id, signal);
    if (isTerminal(task.status) && task.status !== 'SUCCEEDED') throw new JobFailedError(task);
    const [path = ''] = await planOutputs([fileNameOf(task, thumbnail ? '-thumbnail.jpg' : '.glb')], options);
    if (!isTerminal(task.status)) {
      const state = `${task.status} ${task.progress} %`;
      const command = resumeCommand(task.task_id, thumbnail ? undefined : path, options);
      throw new Failed(exitCode.failed, `Job ${id} is ${state} and has no model yet. To wait for it: ${command}`);
    }
    const asset = thumbnail ? 'thumbnail' : 'glb';
    printModel(path, await downloadModel(client, task, path, { ...options, asset, signal }));
  });
}
