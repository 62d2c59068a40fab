import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  AuthenticationError,
  ConnectionError,
  type Gen3d,
  InsufficientBalanceError,
  RateLimitError,
  ServerError,
} from '@gen3d/sdk';
import type { Command } from 'commander';
import { type ServerOptions, withClient } from '../connection/client.js';
import { failureOf, UsageError } from '../exit/failure.js';
import { stopped } from '../exit/interruption.js';
import { downloadModel } from '../jobs/job.js';
import { modelPath } from '../jobs/output-file.js';
import { fitting } from '../jobs/photo-input.js';
import { photoExtensions, watchFolder } from '../jobs/watched-folder.js';
import { bytes, count, duration } from '../terminal/format.js';
import { cross, paint, print, printJson, say, tick } from '../terminal/terminal.js';

interface WatchOptions extends ServerOptions {
  readonly json?: boolean;
}

// As many as keep a box busy; a folder of a thousand photos must not make a thousand jobs that others wait behind.
const concurrency = 4;

export function addWatch(program: Command): void {
  program
    .command('watch')
    .summary('turn each new photo in a folder into a model beside it')
    .description(
      'Turn each photo in a folder into a model beside it, those that are there and those that come, until Ctrl-C.\n' +
        'A photo whose model is there is left alone, and one that was sent before is not sent again, also after a restart.\n' +
        'One that failed is tried again when the file changes, or with `gen3d create PHOTO --wait`.',
    )
    .argument('<folder>', `the folder to watch for ${photoExtensions.map((one) => one.slice(1)).join(', ')} files`)
    .option('--json', "print the API's task object of each finished photo, one a line")
    .action((folder: string, _: unknown, command: Command) => watch(folder, command.optsWithGlobals()));
}

async function watch(folder: string, options: WatchOptions): Promise<void> {
  const found = await stat(folder).catch(() => undefined);
  if (!found?.isDirectory()) {
    throw new UsageError(`${folder} is ${found ? 'no folder' : 'not there'}: give the folder to watch`);
  }
  await withClient(options, async (client, signal) => {
    // A wrong key is told now and not with the first photo, which may come next week.
    await client.balance.retrieve({ signal });
    const photos = new Photos(client, options, signal);
    const watcher = await watchFolder(folder, (path) => photos.add(path));
    say(`Watching ${folder}, Ctrl-C ends`);
    try {
      // Here Ctrl-C is the way to be done, not an interruption.
      await Promise.race([stopped(signal), photos.refused]);
    } finally {
      await watcher.close();
      const open = await photos.stop();
      if (open > 0) say(`${count(open, 'photo')} on the way: the same command picks up the models`);
    }
  });
}

/** The photos that are waiting or on their way, each at most once. */
class Photos {
  /** Rejects when no photo can be sent any more: the key was refused. */
  readonly refused: Promise<never>;
  readonly #refuse: (error: AuthenticationError) => void;
  readonly #waiting = new Set<string>();
  readonly #running = new Map<string, Promise<void>>();
  /** Which photo a model is of: `cup.jpg` and `cup.png` both want `cup.glb`. */
  readonly #claims = new Map<string, string>();
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;

  constructor(
    private readonly client: Gen3d,
    private readonly options: WatchOptions,
    signal: AbortSignal,
  ) {
    this.#signal = AbortSignal.any([signal, this.#stop.signal]);
    let refuse: (error: AuthenticationError) => void = () => {};
    this.refused = new Promise((_, reject) => {
      refuse = reject;
    });
    // It may be refused before anybody waits to hear of it.
    this.refused.catch(() => {});
    this.#refuse = refuse;
  }

  add(photo: string): void {
    // One that changes while it is on its way is looked at again afterwards.
    this.#waiting.add(photo);
    this.#startNext();
  }

  /** Ends the waiting, not the jobs. @returns how many photos had no model yet */
  async stop(): Promise<number> {
    const open = new Set([...this.#waiting, ...this.#running.keys()]).size;
    this.#waiting.clear();
    this.#stop.abort();
    await Promise.all(this.#running.values());
    return open;
  }

  #startNext(): void {
    for (const photo of this.#waiting) {
      if (this.#running.size >= concurrency) return;
      if (this.#running.has(photo)) continue;
      this.#waiting.delete(photo);
      const work = this.#make(photo).finally(() => {
        this.#running.delete(photo);
        if (!this.#signal.aborted) this.#startNext();
      });
      this.#running.set(photo, work);
    }
  }

  async #make(photo: string): Promise<void> {
    const name = basename(photo);
    const model = modelPath(photo);
    try {
      const claimant = this.#claims.get(model) ?? photo;
      this.#claims.set(model, claimant);
      if (claimant !== photo && (await exists(claimant))) {
        throw new UsageError(`would become ${basename(model)}, as ${basename(claimant)} does. Rename one of them`);
      }
      this.#claims.set(model, photo);
      if (await exists(model)) return;
      await this.#patiently(name, () => this.#send(photo, model));
    } catch (error) {
      if (this.#signal.aborted) return;
      if (error instanceof AuthenticationError) this.#refuse(error);
      else say(`${cross()} ${name}  ${failureOf(error).message}`);
    }
  }

  async #send(photo: string, model: string): Promise<void> {
    const startedAt = Date.now();
    const name = basename(photo);
    const content = await readFile(photo, { signal: this.#signal });
    // The same photo is the same job, whenever and however often it is sent.
    const idempotencyKey = `watch-${createHash('sha256').update(content).digest('hex')}`;
    const image = await fitting(name, content);
    const { job_id } = await this.client.jobs.create({ image, idempotencyKey }, { signal: this.#signal });
    say(`${paint('dim', '•')} ${name}  job ${job_id}`);
    const task = await this.client.jobs.wait(job_id, { signal: this.#signal });
    const size = await downloadModel(this.client, task, model, { signal: this.#signal });
    say(`${tick()} ${name}  ${bytes(size)}, ${duration(Date.now() - startedAt)}`);
    if (this.options.json) printJson(task);
    else print(model);
  }

  /** A server that is away for a night, or an account without money, comes back; whoever watches a folder can wait. */
  async #patiently(name: string, work: () => Promise<void>): Promise<void> {
    for (let pauseMs = 2000; ; pauseMs = Math.min(2 * pauseMs, 60_000)) {
      try {
        return await work();
      } catch (error) {
        const passes = [ConnectionError, RateLimitError, ServerError, InsufficientBalanceError].some(
          (type) => error instanceof type,
        );
        if (!passes || this.#signal.aborted) throw error;
        say(`${paint('yellow', '•')} ${name}  ${failureOf(error).message}. Trying again in ${duration(pauseMs)}`);
        await sleep(pauseMs, undefined, { signal: this.#signal });
      }
    }
  }
}

const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );
