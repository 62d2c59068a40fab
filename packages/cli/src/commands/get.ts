import { describeWarnings, fileNameOf } from '@gen3d/schema/rules';
import { isTerminal, JobFailedError } from '@gen3d/sdk';
import type { Command } from 'commander';
import { type ServerOptions, withClient } from '../connection/client.js';
import { Interrupted, UsageError } from '../exit/failure.js';
import { findJob, type NamedTask, nameOf } from '../jobs/account-jobs.js';
import { downloadModel, resumeCommand } from '../jobs/job.js';
import { printModel } from '../jobs/model-file.js';
import { addModelOptions } from '../jobs/model-options.js';
import { extensions, planOutputs, type ResultOptions } from '../jobs/output-file.js';
import { duration, table } from '../terminal/format.js';
import { showProgress, showState } from '../terminal/progress.js';
import { openWithDefaultApp, print, printJson, say } from '../terminal/terminal.js';

export function addGet(program: Command): void {
  const command = program
    .command('get')
    .summary('show a job, or wait for it')
    .description('Show a job. With --wait, wait for it; with --wait and -o, also write its model.')
    .argument('<id>', "the job's id, or a unique prefix of it")
    .option('-w, --wait', 'show progress until the job is finished')
    .option('-o, --output <path>', `with --wait: write the model to this ${extensions()}; - for stdout`)
    .option('-f, --force', 'overwrite an existing file')
    .option('--json', "print the API's task object, with the job's name and times")
    .option('--open', 'open the job in the dashboard; with -o the model file');
  addModelOptions(command).action((id: string, _: unknown, command: Command) => get(id, command.optsWithGlobals()));
}

async function get(id: string, options: ServerOptions & ResultOptions): Promise<void> {
  if (options.output !== undefined && !options.wait) {
    throw new UsageError('-o requires --wait. To download a finished model, use `gen3d download`');
  }
  await withClient(options, async (client, signal) => {
    // Retrieves the job first, because `wait` would tolerate an unreachable server for a minute.
    let task = await findJob(client, id, signal);
    const { task_id } = task;
    const [path] = options.output === undefined ? [] : await planOutputs([fileNameOf(task, '.glb')], options);
    if (options.wait && task.status !== 'SUCCEEDED') {
      const display = await showProgress(1);
      try {
        await client.jobs.wait(task_id, { signal, onProgress: showState(display, nameOf(task)) });
        task = await findJob(client, task_id, signal);
      } catch (error) {
        display.stop();
        if (error instanceof JobFailedError && options.json) printJson(error.task);
        if (!(error instanceof Interrupted)) throw error;
        throw new Interrupted(`The job is still running. To wait again: ${resumeCommand(task_id, path, options)}`);
      } finally {
        display.stop();
      }
    }
    const written = path === undefined ? undefined : await downloadModel(client, task, path, { ...options, signal });
    if (options.json) printJson(task);
    else if (path === undefined || !written) print(describe(task));
    else printModel(path, written);
    if (path !== undefined && options.json) say(path);
    if (options.open) await openWithDefaultApp(path ?? `${client.baseUrl}/dashboard/jobs/${task.task_id}`);
  });
}

function describe(task: NamedTask): string {
  const { label, model_urls, thumbnail_url, error, created_at, finished_at, inference_seconds } = task;
  const rows = [
    ['job', task.task_id],
    ...(label ? [['name', label]] : []),
    ['status', isTerminal(task.status) ? task.status : `${task.status} ${task.progress} %`],
    ...(error ? [['error', `${error.code}: ${error.message}`]] : []),
    ...(model_urls ? [['model', model_urls.glb]] : []),
    ...describeWarnings(task.warnings ?? []).map((sentence) => ['warning', sentence]),
    ...(thumbnail_url ? [['thumbnail', thumbnail_url]] : []),
    ['created', created_at],
    ...(finished_at
      ? [['finished', `${finished_at} (after ${duration(Date.parse(finished_at) - Date.parse(created_at))})`]]
      : []),
    ...(inference_seconds ? [['inference', duration(1000 * inference_seconds)]] : []),
  ];
  return table(rows);
}
