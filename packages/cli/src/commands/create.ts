import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import {
  AuthenticationError,
  ConnectionError,
  type CreateJobResponse,
  type Gen3d,
  JobFailedError,
  RateLimitError,
} from '@gen3d/sdk';
import type { Command } from 'commander';
import { type ServerOptions, withClient } from '../connection/client.js';
import { exitCode, Failed, failureOf, Interrupted, UsageError } from '../exit/failure.js';
import { downloadModel, resumeCommand } from '../jobs/job.js';
import { isUrl, modelPath, planOutputs } from '../jobs/output-file.js';
import { isDataUri, photoInput } from '../jobs/photo-input.js';
import { bytes, count, duration } from '../terminal/format.js';
import { explainNoPreview, thumbnailPreview } from '../terminal/preview.js';
import { type ProgressDisplay, showProgress, showState } from '../terminal/progress.js';
import { cross, isWatched, openWithDefaultApp, paint, print, printJson, say, tick } from '../terminal/terminal.js';

interface CreateOptions extends ServerOptions {
  readonly wait?: boolean;
  readonly output?: string;
  readonly force?: boolean;
  readonly json?: boolean;
  readonly open?: boolean;
  readonly preview?: boolean;
}

/** One photo of the call, and how far it has come. */
interface Item {
  readonly image: string;
  readonly name: string;
  /** Where its model goes; undefined when nobody waits for it. */
  readonly path: string | undefined;
  /** While its job is running. */
  openJob?: string | undefined;
  /** While its photo is on the way, and whether it has become a job is not known. */
  unanswered?: boolean;
}

// Enough to keep a box's queue full, and far below the 50 requests a second that all clients share.
const concurrency = 8;
/** Pause before retrying a create that was refused with 429 and no `Retry-After`. */
const defaultPauseMs = 5_000;
const full = 'the server accepts no more jobs at the moment; waiting';

export function addCreate(program: Command): void {
  program
    .command('create')
    .summary('turn photos into 3D models')
    .description('Hand in photos, one job each. With --wait, stay until they are done and write the models.')
    .argument('<image...>', 'paths, http(s) URLs, or - for stdin')
    .option('-w, --wait', 'show progress, then write photo.glb beside photo.jpg')
    .option('-o, --output <path>', 'with --wait: the file to write; a folder for several photos')
    .option('-f, --force', 'overwrite files that exist')
    .option('--json', "print the API's object, one a line: the job's id, or with --wait the finished task")
    .option(
      '--open',
      "open the job's page in the dashboard (of several photos the gallery); with --wait the model's file",
    )
    .option('--preview', 'with --wait: show what was made in the terminal, as well as it can')
    .action((images: string[], _: unknown, command: Command) => create(images, command.optsWithGlobals()));
}

async function create(images: readonly string[], options: CreateOptions): Promise<void> {
  if (!options.wait && (options.output !== undefined || options.force)) {
    throw new UsageError('-o and --force need --wait: without it nothing is written yet');
  }
  if (!options.wait && options.preview) throw new UsageError('--preview needs --wait: there is nothing to see before');
  await refuseMissing(images);
  const paths = options.wait ? await planOutputs(images.map(modelPath), options) : [];
  if (options.preview) explainNoPreview();
  const items = images.map((image, index): Item => ({ image, name: nameOf(image), path: paths[index] }));
  await withClient(options, (client, signal) =>
    options.wait ? createAndWait(client, items, options, signal) : createOnly(client, items, options, signal),
  );
}

/** All photos are looked for before the first is sent: a typo in the last name must not cost the jobs before it. */
async function refuseMissing(images: readonly string[]): Promise<void> {
  if (images.filter((image) => image === '-').length > 1) throw new UsageError('- (stdin) can be given only once');
  for (const image of images) {
    if (image === '-' || isUrl(image) || isDataUri(image)) continue;
    if (image === '') {
      throw new UsageError("A photo's name is empty (an unset variable?): give a path, an http(s) URL, or - for stdin");
    }
    const found = await stat(image).catch((cause: unknown) => {
      throw new UsageError(`${image} does not exist: give the path of a photo, an http(s) URL, or - for stdin`, {
        cause,
      });
    });
    if (!found.isFile()) throw new UsageError(`${image} is not a file: give the photos in it, such as ${image}/*.jpg`);
  }
}

function nameOf(image: string): string {
  if (image === '-') return 'stdin';
  if (isDataUri(image)) return 'data URI';
  return isUrl(image) ? image : basename(image);
}

async function createOnly(client: Gen3d, items: readonly Item[], { json, open }: CreateOptions, signal: AbortSignal) {
  let last: string | undefined;
  let saidFull = false;
  const onFull = () => {
    if (!saidFull) say(full);
    saidFull = true;
  };
  const handingIn = forEach(items, signal, say, async (item, stop) => {
    const created = await handIn(client, item, stop, onFull);
    last = created.job_id;
    if (json) printJson(created);
    else print(created.job_id);
    if (isWatched() && items.length === 1) say(paint('dim', `\`${resumeCommand(created.job_id)}\` waits for it`));
  });
  const failures = await handingIn.catch((error: unknown) => {
    throw error instanceof Interrupted ? new Interrupted(unanswered(items)) : error;
  });
  if (open && last !== undefined) {
    await openWithDefaultApp(
      items.length === 1 ? `${client.baseUrl}/dashboard/jobs/${last}` : `${client.baseUrl}/dashboard`,
    );
  }
  if (failures) throw new Failed(exitCode.failed);
}

async function createAndWait(client: Gen3d, items: readonly Item[], options: CreateOptions, signal: AbortSignal) {
  const startedAt = Date.now();
  const display = await showProgress(items.length);
  let failures: number;
  try {
    const report = (line: string, { name }: Item) => display.finish(name, line);
    failures = await forEach(items, signal, report, (item, stop) => finish(client, item, options, display, stop));
  } catch (error) {
    display.stop();
    const open = openJobs(items);
    if (error instanceof Interrupted) throw new Interrupted([open, unanswered(items)].filter(Boolean).join('\n'));
    if (open) say(open);
    throw error;
  } finally {
    display.stop();
  }
  if (items.length > 1) {
    const made = count(items.length - failures, 'model');
    say(`${made}${failures ? `, ${failures} failed` : ''}, in ${duration(Date.now() - startedAt)}`);
  }
  if (options.open && failures < items.length) await openWithDefaultApp(result(items, client));
  if (failures) throw new Failed(exitCode.failed);
}

/** What a person wants to see when all is done: the model; of several photos the gallery, as files open one by one. */
const result = ([first, ...others]: readonly Item[], { baseUrl }: Gen3d) =>
  first?.path !== undefined && others.length === 0 ? first.path : `${baseUrl}/dashboard`;

/**
 * Creates the job of one photo, and records whether a response came. Retries while the server refuses more requests or
 * more unfinished jobs, because a batch may be larger than the number of jobs that one account may have open.
 */
async function handIn(client: Gen3d, item: Item, signal: AbortSignal, onFull: () => void): Promise<CreateJobResponse> {
  const image = await photoInput(item.image, signal);
  for (;;) {
    item.unanswered = true;
    try {
      return await client.jobs.create({ image }, { signal });
    } catch (error) {
      if (!(error instanceof RateLimitError)) throw error;
      onFull();
      await pause(error.retryAfterMs ?? defaultPauseMs, undefined, { signal });
    } finally {
      item.unanswered = signal.aborted;
    }
  }
}

/** How to come by what goes on after this run has ended; empty if nothing does. */
function openJobs(items: readonly Item[]): string {
  const open = items.flatMap(({ openJob, path }) => (openJob ? [`  ${resumeCommand(openJob, path)}`] : []));
  if (open.length === 0) return '';
  return `${open.length === 1 ? 'The job goes on' : 'The jobs go on'}. To pick up the result:\n${open.join('\n')}`;
}

function unanswered(items: readonly Item[]): string {
  const names = items.filter((item) => item.unanswered && !item.openJob).map(({ name }) => name);
  if (names.length === 0) return '';
  return `No answer had come for ${names.join(', ')}: if there is a job, \`gen3d list\` shows it among the newest`;
}

async function finish(
  client: Gen3d,
  item: Item,
  options: CreateOptions,
  display: ProgressDisplay,
  signal: AbortSignal,
) {
  const startedAt = Date.now();
  const path = item.path ?? modelPath(item.image);
  display.update(item.name, 'sending');
  const { job_id } = await handIn(client, item, signal, () => display.update(item.name, full));
  item.openJob = job_id;
  try {
    const task = await client.jobs.wait(job_id, { signal, onProgress: showState(display, item.name) });
    const size = await downloadModel(client, task, path, { force: options.force, signal });
    item.openJob = undefined;
    const picture = options.preview ? await thumbnailPreview(client, task, signal) : undefined;
    const line = `${tick()} ${item.name}  ${bytes(size)}, ${duration(Date.now() - startedAt)}`;
    display.finish(item.name, picture === undefined ? line : `${line}\n${picture}`);
    if (options.json) printJson(task);
    else print(path);
  } catch (error) {
    if (error instanceof JobFailedError) {
      item.openJob = undefined;
      if (options.json) printJson(error.task);
    }
    throw error;
  }
}

/**
 * Works on the items, a few at a time. One that fails by itself is reported, and the others go on; what would stop
 * them all (Ctrl-C, a refused key, no server) stops them at once. A single item's error is simply thrown.
 *
 * @returns how many failed
 */
async function forEach(
  items: readonly Item[],
  signal: AbortSignal,
  report: (line: string, item: Item) => void,
  work: (item: Item, signal: AbortSignal) => Promise<void>,
): Promise<number> {
  const stopAll = new AbortController();
  const stop = AbortSignal.any([signal, stopAll.signal]);
  const waiting = items.values();
  let failures = 0;
  const worker = async () => {
    for (const item of waiting) {
      try {
        stop.throwIfAborted();
        await work(item, stop);
      } catch (thrown) {
        // What was cut off in the middle rejects in its own way; the reason is why it was.
        const error: unknown = stop.aborted ? stop.reason : thrown;
        const forAll = [Interrupted, AuthenticationError, ConnectionError].some((type) => error instanceof type);
        if (forAll || items.length === 1) {
          stopAll.abort(error);
          throw error;
        }
        failures += 1;
        report(`${cross()} ${item.name}  ${failureOf(error).message}`, item);
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return failures;
}
