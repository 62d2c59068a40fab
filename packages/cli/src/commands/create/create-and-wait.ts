import { describeWarnings } from '@gen3d/schema/rules';
import { type Gen3d, JobFailedError } from '@gen3d/sdk';
import { exitCode, Failed, Interrupted } from '../../exit/failure.js';
import { findJob, type NamedTask } from '../../jobs/account-jobs.js';
import { downloadModel, resumeCommand } from '../../jobs/job.js';
import { printModel, sayNotes } from '../../jobs/model-file.js';
import { modelPath } from '../../jobs/output-file.js';
import { bytes, count, duration } from '../../terminal/format.js';
import { type ProgressDisplay, showProgress, showState } from '../../terminal/progress.js';
import { isInteractive, openWithDefaultApp, paint, printJson, say, tick } from '../../terminal/terminal.js';
import type { CreateOptions } from './item.js';
import { createJob, forEach, type Item, limitReached, unknownJobsHint } from './item.js';

/** Creates the jobs of `create --wait`, shows their progress, and writes their models. */
export async function createAndWait(
  client: Gen3d,
  items: readonly Item[],
  options: CreateOptions,
  signal: AbortSignal,
): Promise<void> {
  const startedAt = Date.now();
  const display = await showProgress(items.length);
  let failures: number;
  try {
    const report = (line: string, { name }: Item) => display.finish(name, line);
    failures = await forEach(items, signal, report, (item, stop) => createModel(client, item, options, display, stop));
  } catch (error) {
    display.stop();
    const hint = runningJobsHint(items, options);
    if (error instanceof Interrupted) throw new Interrupted([hint, unknownJobsHint(items)].filter(Boolean).join('\n'));
    // If a model could not be written, the error already says what to do.
    if (hint && !(error instanceof Failed)) say(hint);
    throw error;
  } finally {
    display.stop();
  }
  const succeeded = items.length - failures;
  if (items.length > 1) {
    const failed = failures ? `, ${failures} failed` : '';
    say(`${count(succeeded, 'model')}${failed}, in ${duration(Date.now() - startedAt)}`);
  }
  const [only] = items.length === 1 ? items : [];
  if (only?.finishedJob !== undefined && !options.open && isInteractive()) {
    say(paint('dim', `To view it: ${client.baseUrl}/dashboard/jobs/${only.finishedJob}`));
  }
  if (options.open && succeeded > 0) {
    // Several photos open the gallery, because files would open one by one.
    await openWithDefaultApp(only?.path ?? `${client.baseUrl}/dashboard`);
  }
  if (failures) throw new Failed(exitCode.failed);
}

/** Suggests commands for jobs that may still run, or whose models were not downloaded. Empty if there are none. */
function runningJobsHint(items: readonly Item[], options: CreateOptions): string {
  const commands = items.flatMap(({ runningJob, path }) =>
    runningJob ? [`  ${resumeCommand(runningJob, path, options)}`] : [],
  );
  if (commands.length === 0) return '';
  const subject =
    commands.length === 1
      ? 'The server still has the job. To get its model'
      : 'The server still has the jobs. To get their models';
  return `${subject}:\n${commands.join('\n')}`;
}

async function createModel(
  client: Gen3d,
  item: Item,
  options: CreateOptions,
  display: ProgressDisplay,
  signal: AbortSignal,
) {
  const startedAt = Date.now();
  const path = item.path ?? modelPath(item.photos.front);
  const show = (state: string) => display.update(item.name, state);
  const onLimit = (reason: string) => show(limitReached(reason));
  const { job_id } = await createJob(client, item, signal, onLimit, () => show('sending'));
  item.runningJob = job_id;
  try {
    const task = await client.jobs.wait(job_id, { signal, onProgress: showState(display, item.name) });
    const written = await downloadModel(client, task, path, { ...options, signal });
    item.runningJob = undefined;
    // Its times and warnings are a courtesy.
    const job = await findJob(client, job_id, signal).catch(() => undefined);
    const time = duration(Date.now() - startedAt) + queueAndWork(job);
    display.finish(item.name, `${tick()} ${item.name}  ${bytes(written.bytes)}, ${time}`);
    for (const sentence of describeWarnings(job?.warnings ?? [])) say(`warning: ${item.name}: ${sentence}`);
    item.finishedJob = job_id;
    if (!options.json) printModel(path, written);
    else {
      printJson(task);
      sayNotes(written);
    }
  } catch (error) {
    if (error instanceof JobFailedError) {
      item.runningJob = undefined;
      if (options.json) printJson(error.task);
    }
    throw error;
  }
}

/** Says how long a finished job waited, and how long the server worked on it. Empty if it waited less than a second. */
function queueAndWork(job: NamedTask | undefined): string {
  if (!job?.work_seconds || !job.finished_at) return '';
  const workMs = 1000 * job.work_seconds;
  const queueMs = Date.parse(job.finished_at) - Date.parse(job.created_at) - workMs;
  return queueMs < 1000 ? '' : `: ${duration(queueMs)} in the queue, ${duration(workMs)} of work`;
}
