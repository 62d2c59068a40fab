import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeWarnings, photoFormatNames, type SamplerSettings } from '@gen3d/schema/rules';
import {
  AuthenticationError,
  ConnectionError,
  type CreateJobParams,
  type CreateJobResponse,
  type Gen3d,
  JobFailedError,
  RateLimitError,
} from '@gen3d/sdk';
import type { Command } from 'commander';
import pMap from 'p-map';
import { type ServerOptions, simultaneousStartMs, withClient } from '../connection/client.js';
import { exitCode, Failed, failureOf, Interrupted, UsageError } from '../exit/failure.js';
import { findJob, type NamedTask } from '../jobs/account-jobs.js';
import { downloadModel, resumeCommand } from '../jobs/job.js';
import { printModel, sayNotes } from '../jobs/model-file.js';
import {
  addModelOptions,
  addSamplerOptions,
  addServerOptions,
  modelOptionWords,
  readModelOptions,
  samplerOf,
} from '../jobs/model-options.js';
import { extensions, modelPath, planOutputs, type ResultOptions } from '../jobs/output-file.js';
import { isDataUri, isUrl, labelOf, photoInput, photoUrl, requirePhotoFile } from '../jobs/photo-input.js';
import { bytes, count, duration, shellWord } from '../terminal/format.js';
import { nextCommand } from '../terminal/next-command.js';
import { type ProgressDisplay, showProgress, showState } from '../terminal/progress.js';
import {
  cross,
  isInteractive,
  openWithDefaultApp,
  paint,
  print,
  printJson,
  requirePipe,
  say,
  shownName,
  tick,
} from '../terminal/terminal.js';

type CreateOptions = ServerOptions & ResultOptions & SamplerSettings & { option?: Readonly<Record<string, string>> };

/** A photo of the command and the state of its job. */
interface Item {
  readonly image: string;
  readonly name: string;
  /** Where the model was written. Undefined without --wait. */
  readonly path: string | undefined;
  /** For all photos, as are the settings. */
  readonly order: Order;
  readonly settings: Omit<CreateJobParams, 'image' | 'label'>;
  /** The id of the job while it runs. */
  runningJob?: string | undefined;
  /** The id of the job once its model is written. */
  finishedJob?: string;
  /** Whether the request was sent, but its response has not arrived. */
  awaitingResponse?: boolean;
}

// Enough to keep the queue of a server full, but far below the limit of 50 requests per second for all clients.
const concurrency = 8;
/** How long to wait before retrying after a 429 without `Retry-After`. */
const defaultPauseMs = 5_000;
const limitReached = (reason: string) => `the server's queue is full for now; waiting for a free place. ${reason}`;

export function addCreate(program: Command): void {
  const command = program
    .command('create')
    .summary('turn photos into 3D models')
    .description(
      `Create a job for each photo (${photoFormatNames.join(', ')}). With --wait, wait for the jobs and write the models.`,
    )
    .argument('<image...>', 'paths, http(s) URLs, or - for stdin')
    .option('-w, --wait', 'show progress, then write photo.glb next to photo.jpg')
    .option('-o, --output <path>', `with --wait: the ${extensions()} to write, or a folder; - for stdout`)
    .option('-f, --force', 'overwrite existing files')
    .option('--json', 'print the response of the API, one object per line; with --wait the finished task')
    .option('--open', 'open the job in the dashboard (the gallery for several photos); with --wait the model file');
  addModelOptions(addServerOptions(addSamplerOptions(command))).action(
    (images: string[], _: unknown, command: Command) => create(images, command.optsWithGlobals()),
  );
}

async function create(images: readonly string[], options: CreateOptions): Promise<void> {
  const { size, height, width, ...others } = options;
  // The server applies the size. All other changes to the model are made here, after the download.
  const words = modelOptionWords(others);
  if (!options.wait && (options.output !== undefined || options.force || words)) {
    throw new UsageError(words ? `${words.trim()} requires --wait` : '-o and --force require --wait');
  }
  readModelOptions({ size, height, width }, 'glb');
  await requireFiles(images);
  const paths = options.wait ? await planOutputs(images.map(modelPath), options, images) : [];
  const order = new Order();
  const settings = { sampler: samplerOf(options), options: options.option, size, height, width };
  const items = images.map(
    (image, index): Item => ({ image, name: nameOf(image), path: paths[index], order, settings }),
  );
  const work = (client: Gen3d, signal: AbortSignal) =>
    options.wait ? createAndWait(client, items, options, signal) : createOnly(client, items, options, signal);
  await withClient(options, work, simultaneousStartMs);
}

/** Checks all photos before sending the first, so that a typo in the last name creates no jobs. */
async function requireFiles(images: readonly string[]): Promise<void> {
  if (images.filter((image) => image === '-').length > 1) throw new UsageError('- (stdin) can be given only once');
  for (const image of images) {
    if (image === '-') requirePipe('gen3d create - --wait < photo.jpg');
    if (isUrl(image)) photoUrl(image);
    if (image === '-' || isUrl(image) || isDataUri(image)) continue;
    if (image === '') {
      throw new UsageError('The path of a photo is empty. Check for an unset variable, or pass - for stdin');
    }
    const file = await stat(image).catch((cause: unknown) => {
      throw new UsageError(
        `${shownName(image)} does not exist. Pass the path of a photo, an http(s) URL, or - for stdin`,
        {
          cause,
        },
      );
    });
    const advice = file.isDirectory()
      ? `Pass the photos in it, such as ${shellWord(image)}/*.jpg, or run \`gen3d watch ${shellWord(image)}\``
      : `To read a photo from a pipe, pass - for stdin, as in \`gen3d create - < photo.jpg\``;
    if (!file.isFile()) throw new UsageError(`${shownName(image)} is not a file. ${advice}`);
    // Of several files, the one that is not a photo fails later, and the others become models.
    if (images.length === 1) await requirePhotoFile(image);
  }
}

function nameOf(image: string): string {
  if (image === '-') return 'stdin';
  if (isDataUri(image)) return 'data URI';
  return isUrl(image) ? image : shownName(basename(image));
}

async function createOnly(client: Gen3d, items: readonly Item[], { json, open }: CreateOptions, signal: AbortSignal) {
  let lastJob: string | undefined;
  let saidLimitReached = false;
  const onLimit = (reason: string) => {
    if (!saidLimitReached) say(limitReached(reason));
    saidLimitReached = true;
  };
  const work = async (item: Item, stop: AbortSignal) => {
    const created = await createJob(client, item, stop, onLimit);
    lastJob = created.job_id;
    if (json) printJson(created);
    else print(created.job_id);
    if (isInteractive() && items.length === 1) {
      say(paint('dim', `To wait for the model: ${resumeCommand(created.job_id, modelPath(item.image))}`));
    }
  };
  const failures = await forEach(items, signal, say, work).catch((error: unknown) => {
    throw error instanceof Interrupted ? new Interrupted(unknownJobsHint(items)) : error;
  });
  if (isInteractive() && items.length > 1 && lastJob !== undefined) {
    say(
      paint(
        'dim',
        `To see the jobs: ${nextCommand('list')}. To wait for a model: ${resumeCommand(lastJob, 'FILE.glb')}`,
      ),
    );
  }
  if (open && lastJob !== undefined) {
    await openWithDefaultApp(`${client.baseUrl}/dashboard${items.length === 1 ? `/jobs/${lastJob}` : ''}`);
  }
  if (failures) throw new Failed(exitCode.failed);
}

async function createAndWait(client: Gen3d, items: readonly Item[], options: CreateOptions, signal: AbortSignal) {
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
    await openWithDefaultApp((items.length === 1 ? items[0]?.path : undefined) ?? `${client.baseUrl}/dashboard`);
  }
  if (failures) throw new Failed(exitCode.failed);
}

/**
 * Creates the job of a photo. Retries while the server rejects further requests or unfinished jobs, because a batch may be
 * larger than the account's limit of unfinished jobs.
 */
async function createJob(
  client: Gen3d,
  item: Item,
  signal: AbortSignal,
  onLimit: (reason: string) => void,
  onSend?: () => void,
): Promise<CreateJobResponse> {
  const photo = photoInput(item.image, signal);
  // Handled below, in the order of the photos.
  photo.catch(() => {});
  return item.order.run(async () => {
    const image = await photo;
    for (;;) {
      signal.throwIfAborted();
      onSend?.();
      item.awaitingResponse = true;
      try {
        return await client.jobs.create({ image, label: labelOf(item.image), ...item.settings }, { signal });
      } catch (error) {
        if (!(error instanceof RateLimitError)) throw error;
        onLimit(error.message);
        await sleep(error.retryAfterMs ?? defaultPauseMs, undefined, { signal });
      } finally {
        item.awaitingResponse = signal.aborted;
      }
    }
  });
}

/** Runs work one after the other, in the order of the calls, to queue the jobs in the order of the arguments. */
class Order {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work, work);
    this.#last = result;
    return result;
  }
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

/** Names the photos that may or may not have a job. Empty if there are none. */
function unknownJobsHint(items: readonly Item[]): string {
  const names = items.filter((item) => item.awaitingResponse && !item.runningJob).map(({ name }) => name);
  if (names.length === 0) return '';
  return `The server has not confirmed a job for ${names.join(', ')}. If there is one, \`${nextCommand('list')}\` shows it`;
}

async function createModel(
  client: Gen3d,
  item: Item,
  options: CreateOptions,
  display: ProgressDisplay,
  signal: AbortSignal,
) {
  const startedAt = Date.now();
  const path = item.path ?? modelPath(item.image);
  const show = (state: string) => display.update(item.name, state);
  const { job_id } = await createJob(
    client,
    item,
    signal,
    (reason) => show(limitReached(reason)),
    () => show('sending'),
  );
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

/**
 * Processes the items concurrently. Reports the failure of an item and continues, except for a single item and for errors
 * that affect all items: Ctrl-C, a rejected key and an unreachable server.
 *
 * @returns the number of failures
 */
async function forEach(
  items: readonly Item[],
  signal: AbortSignal,
  report: (line: string, item: Item) => void,
  work: (item: Item, signal: AbortSignal) => Promise<void>,
): Promise<number> {
  const stopAll = new AbortController();
  const stop = AbortSignal.any([signal, stopAll.signal]);
  let failures = 0;
  await pMap(
    items,
    async (item) => {
      try {
        stop.throwIfAborted();
        await work(item, stop);
      } catch (thrown) {
        // Aborted work may reject with errors other than the reason.
        const error: unknown = stop.aborted ? stop.reason : thrown;
        const affectsAll = [Interrupted, AuthenticationError, ConnectionError].some((type) => error instanceof type);
        if (affectsAll || items.length === 1) {
          stopAll.abort(error);
          if (!(error instanceof JobFailedError)) throw error;
          throw new Failed(exitCode.failed, `${item.name}: ${failureOf(error).message}`, { cause: error });
        }
        failures += 1;
        report(`${cross()} ${item.name}  ${failureOf(error).message}`, item);
      }
    },
    { concurrency },
  );
  return failures;
}
