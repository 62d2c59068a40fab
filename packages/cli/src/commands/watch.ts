import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { photoExtensions } from '@gen3d/schema/rules';
import {
  AuthenticationError,
  ConnectionError,
  type Gen3d,
  InsufficientBalanceError,
  RateLimitError,
  ServerError,
} from '@gen3d/sdk';
import type { FSWatcher } from 'chokidar';
import type { Command } from 'commander';
import { type ServerOptions, simultaneousStartMs, withClient } from '../connection/client.js';
import { exitCode, Failed, failureOf, UsageError } from '../exit/failure.js';
import { hasCode } from '../files/system-errors.js';
import { downloadModel } from '../jobs/job.js';
import { modelPath, pathKey, planOutputs } from '../jobs/output-file.js';
import { photoFile } from '../jobs/photo-input.js';
import { bytes, count, duration } from '../terminal/format.js';
import { cross, paint, print, printJson, say, shownName, tick } from '../terminal/terminal.js';

interface WatchOptions extends ServerOptions {
  readonly json?: boolean;
}

// Enough to keep a machine busy. A folder of a thousand photos must not create a thousand jobs before those of others.
const concurrency = 4;

export function addWatch(program: Command): void {
  program
    .command('watch')
    .summary('turn new photos in a folder into models')
    .description(
      'Turn existing and new photos in a folder into models next to them, until Ctrl-C.\n' +
        'Skips photos that already have a model, and never creates a second job for a photo, even after a restart.\n' +
        'Retries a failed photo when its file changes. To retry it now, use `gen3d create PHOTO --wait`.',
    )
    .argument('<folder>', `the folder with ${photoExtensions.map((extension) => extension.slice(1)).join(', ')} files`)
    .option('--json', "print the API's task object of each finished photo, one per line")
    .action((folder: string, _: unknown, command: Command) => watch(folder, command.optsWithGlobals()));
}

async function watch(folder: string, options: WatchOptions): Promise<void> {
  const found = await stat(folder).catch(() => undefined);
  if (!found?.isDirectory()) {
    throw new UsageError(`${folder} ${found ? 'is not a folder' : 'does not exist'}. Pass the folder to watch`);
  }
  const work = async (client: Gen3d, signal: AbortSignal) => {
    // Reports a wrong key immediately instead of with the first photo.
    await client.balance.retrieve({ signal });
    const photos = new PhotoQueue(client, options, signal);
    const watcher = await watchFolder(folder, (path) => photos.add(path));
    say(`Watching ${folder} (Ctrl-C to stop)`);
    try {
      await Promise.race([stopped(folder, found.ino, signal), photos.rejectedKey]);
    } finally {
      await watcher.close();
      const unfinished = await photos.stop();
      if (unfinished > 0) say(`${count(unfinished, 'photo')} unfinished. Run the same command to get the models`);
    }
  };
  await withClient(options, work, simultaneousStartMs);
}

/** Holds the waiting and running photos. Each photo runs at most once at a time. */
class PhotoQueue {
  /** Rejects if the server rejects the API key, which affects all photos. */
  readonly rejectedKey: Promise<never>;
  readonly #rejectKey: (error: AuthenticationError) => void;
  readonly #waiting = new Set<string>();
  readonly #running = new Map<string, Promise<void>>();
  /** Maps the path of each model to its photo. `cup.jpg` and `cup.png` would both become `cup.glb`. */
  readonly #photoOfModel = new Map<string, string>();
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  readonly #client: Gen3d;
  readonly #options: WatchOptions;

  constructor(client: Gen3d, options: WatchOptions, signal: AbortSignal) {
    this.#client = client;
    this.#options = options;
    this.#signal = AbortSignal.any([signal, this.#stop.signal]);
    let rejectKey: (error: AuthenticationError) => void = () => {};
    this.rejectedKey = new Promise((_, reject) => {
      rejectKey = reject;
    });
    // Avoids an unhandled rejection before `watch` awaits the promise.
    this.rejectedKey.catch(() => {});
    this.#rejectKey = rejectKey;
  }

  /** Queues a photo. If it is running, it runs again afterwards, because it has changed. */
  add(photo: string): void {
    this.#waiting.add(photo);
    this.#startNext();
  }

  /** Stops waiting for jobs, which continue on the server. @returns the number of photos without a model */
  async stop(): Promise<number> {
    const unfinished = new Set([...this.#waiting, ...this.#running.keys()]);
    this.#waiting.clear();
    this.#stop.abort();
    await Promise.all(this.#running.values());
    // A model may have been complete already, or may have been completed in the meantime.
    return [...unfinished].filter((photo) => !existsSync(modelPath(photo))).length;
  }

  #startNext(): void {
    for (const photo of this.#waiting) {
      if (this.#running.size >= concurrency) return;
      if (this.#running.has(photo)) continue;
      this.#waiting.delete(photo);
      const work = this.#process(photo).finally(() => {
        this.#running.delete(photo);
        if (!this.#signal.aborted) this.#startNext();
      });
      this.#running.set(photo, work);
    }
  }

  async #process(photo: string): Promise<void> {
    const name = shownName(basename(photo));
    const model = modelPath(photo);
    try {
      const other = this.#photoOfModel.get(pathKey(model)) ?? photo;
      if (other !== photo && existsSync(other)) {
        throw new UsageError(`would become ${basename(model)}, like ${basename(other)}. Rename one of them`);
      }
      this.#photoOfModel.set(pathKey(model), photo);
      if (!existsSync(model)) await this.#createModelWithRetries(photo, model);
    } catch (error) {
      if (this.#signal.aborted) return;
      if (error instanceof AuthenticationError) this.#rejectKey(error);
      else say(`${cross()} ${name}  ${failureOf(error).message}`);
    }
  }

  /** Retries as long as necessary, for example until an unreachable server returns or the account has credit again. */
  async #createModelWithRetries(photo: string, model: string): Promise<void> {
    for (let pauseMs = 2000; ; pauseMs = Math.min(2 * pauseMs, 60_000)) {
      try {
        return await this.#createModel(photo, model);
      } catch (error) {
        if (!isTemporary(error) || this.#signal.aborted) throw error;
        const retry = `Retrying in ${duration(pauseMs)}`;
        say(`${paint('yellow', '•')} ${shownName(basename(photo))}  ${failureOf(error).message}. ${retry}`);
        await sleep(pauseMs, undefined, { signal: this.#signal });
      }
    }
  }

  async #createModel(photo: string, model: string): Promise<void> {
    const startedAt = Date.now();
    const name = shownName(basename(photo));
    const content = await readFile(photo, { signal: this.#signal });
    // The same photo always has the same job.
    const idempotencyKey = `watch-${createHash('sha256').update(content).digest('hex')}`;
    const image = await photoFile(name, content);
    await planOutputs([model], {}, [photo]);
    const { job_id } = await this.#client.jobs.create({ image, idempotencyKey, label: name }, { signal: this.#signal });
    say(`${paint('dim', '•')} ${name}  job ${job_id}`);
    const task = await this.#client.jobs.wait(job_id, { signal: this.#signal });
    const written = await downloadModel(this.#client, task, model, { signal: this.#signal });
    say(`${tick()} ${name}  ${bytes(written.bytes)}, ${duration(Date.now() - startedAt)}`);
    if (this.#options.json) printJson(task);
    else print(shownName(model));
  }
}

const isTemporary = (error: unknown) =>
  [ConnectionError, RateLimitError, ServerError, InsufficientBalanceError].some((type) => error instanceof type);

// Copies from cameras and browsers pause for less. After a longer pause, the file is processed again when it grows.
const settledMs = 1000;

/**
 * Calls `onPhoto` for each photo in the folder, and for photos added or changed later, when their size has been stable for
 * a second. Ignores subfolders and hidden files.
 */
async function watchFolder(folder: string, onPhoto: (path: string) => void): Promise<FSWatcher> {
  const { watch } = await import('chokidar');
  const watcher = watch(folder, {
    depth: 0,
    awaitWriteFinish: { stabilityThreshold: settledMs, pollInterval: 100 },
    ignored: (path, stats) => stats?.isFile() === true && !isPhoto(path),
  });
  watcher.on('add', onPhoto).on('change', onPhoto);
  await once(watcher, 'ready');
  return watcher;
}

const folderPollMs = 2_000;

/**
 * Resolves after Ctrl-C, which is the normal way to stop.
 *
 * @throws {Failed} if the folder is removed or replaced, which its watcher does not report
 */
async function stopped(folder: string, inode: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const isGone = await stat(folder).then(
      ({ ino }) => ino !== inode,
      (error: unknown) => hasCode(error, 'ENOENT'),
    );
    if (isGone)
      throw new Failed(exitCode.failed, `${folder} was removed or replaced. Run the command again to watch it`);
    await sleep(folderPollMs, undefined, { signal }).catch(() => {});
  }
}

function isPhoto(path: string): boolean {
  const name = basename(path);
  return !name.startsWith('.') && photoExtensions.includes(extname(name).toLowerCase());
}
