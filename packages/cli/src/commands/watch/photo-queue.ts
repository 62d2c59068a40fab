import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeWarnings, type ViewSide, viewSides } from '@gen3d/schema/rules';
import {
  AuthenticationError,
  ConnectionError,
  type Gen3d,
  InsufficientBalanceError,
  isTerminal,
  RateLimitError,
  ServerError,
  type Task,
} from '@gen3d/sdk';
import type { ServerOptions } from '../../connection/client.js';
import { failureOf, UsageError } from '../../exit/failure.js';
import { findJob } from '../../jobs/account-jobs.js';
import { downloadModel } from '../../jobs/job.js';
import { modelPath, pathKey, planOutputs } from '../../jobs/output-file.js';
import { type PhotoSet, readPhotos } from '../../jobs/photo-set.js';
import { bytes, duration } from '../../terminal/format.js';
import { cross, paint, print, printJson, say, shownName, tick } from '../../terminal/terminal.js';

export interface WatchOptions extends ServerOptions {
  readonly json?: boolean;
}

// Enough to keep a machine busy. A folder of a thousand photos must not create a thousand jobs before those of others.
const concurrency = 4;

/** Holds the waiting and running photos. Each object runs at most once at a time. */
export class PhotoQueue {
  /** Aborts when the command stops, or the server rejects the API key, which affects all photos. */
  readonly signal: AbortSignal;
  #rejectedKey: AuthenticationError | undefined;
  readonly #waiting = new Map<string, PhotoSet>();
  readonly #running = new Map<string, Promise<void>>();
  /** Maps the path of each model to its photo. `cup.jpg` and `cup.png` would both become `cup.glb`. */
  readonly #photoOfModel = new Map<string, string>();
  readonly #stop = new AbortController();
  readonly #client: Gen3d;
  readonly #options: WatchOptions;

  constructor(client: Gen3d, options: WatchOptions, signal: AbortSignal) {
    this.#client = client;
    this.#options = options;
    this.signal = AbortSignal.any([signal, this.#stop.signal]);
  }

  /** Queues the photos of an object. If they are running, they run again afterwards, because they have changed. */
  add(photos: PhotoSet): void {
    this.#waiting.set(photos.front, photos);
    this.#startNext();
  }

  /** Stops waiting for jobs, which continue on the server. @returns the number of photos without a model */
  async stop(): Promise<number> {
    const unfinished = new Set([...this.#waiting.keys(), ...this.#running.keys()]);
    this.#waiting.clear();
    this.#stop.abort();
    await Promise.all(this.#running.values());
    // A model may have been complete already, or may have been completed in the meantime.
    return [...unfinished].filter((photo) => !existsSync(modelPath(photo))).length;
  }

  throwIfKeyRejected(): void {
    if (this.#rejectedKey) throw this.#rejectedKey;
  }

  #startNext(): void {
    for (const [front, photos] of this.#waiting) {
      if (this.#running.size >= concurrency) return;
      if (this.#running.has(front)) continue;
      this.#waiting.delete(front);
      const work = this.#process(photos).finally(() => {
        // `stop` counts the photos that the signal interrupted.
        if (this.signal.aborted) return;
        this.#running.delete(front);
        this.#startNext();
      });
      this.#running.set(front, work);
    }
  }

  async #process(photos: PhotoSet): Promise<void> {
    const { front } = photos;
    const model = modelPath(front);
    try {
      const other = this.#photoOfModel.get(pathKey(model)) ?? front;
      if (other !== front && existsSync(other)) {
        throw new UsageError(`would become ${basename(model)}, like ${basename(other)}. Rename one of them`);
      }
      this.#photoOfModel.set(pathKey(model), front);
      if (!existsSync(model)) await this.#createModelWithRetries(photos, model);
    } catch (error) {
      if (this.signal.aborted) return;
      if (error instanceof AuthenticationError) {
        this.#rejectedKey = error;
        this.#stop.abort();
      } else {
        say(`${cross()} ${shownName(basename(front))}  ${failureOf(error).message}`);
      }
    }
  }

  /** Retries as long as necessary, for example until an unreachable server returns or the account has credit again. */
  async #createModelWithRetries(photos: PhotoSet, model: string): Promise<void> {
    for (let pauseMs = 2000; ; pauseMs = Math.min(2 * pauseMs, 60_000)) {
      try {
        return await this.#createModel(photos, model);
      } catch (error) {
        if (!isTemporary(error) || this.signal.aborted) throw error;
        const retry = `Retrying in ${duration(pauseMs)}`;
        say(`${paint('yellow', '•')} ${shownName(basename(photos.front))}  ${failureOf(error).message}. ${retry}`);
        await sleep(pauseMs, undefined, { signal: this.signal });
        // The photos have changed, and are queued again.
        if (this.#waiting.has(photos.front)) return;
      }
    }
  }

  async #createModel(photos: PhotoSet, model: string): Promise<void> {
    const startedAt = Date.now();
    const { signal } = this;
    const name = shownName(basename(photos.front));
    const files = await readPhotos(
      photos,
      async (photo) => new File([await readFile(photo, { signal })], shownName(basename(photo))),
    );
    await planOutputs([model], {}, [photos.front]);
    const params = { ...files, idempotencyKey: await keyOf(files), label: name };
    const { job_id } = await this.#client.jobs.create(params, { signal });
    say(`${paint('dim', '•')} ${name}  job ${job_id}`);
    let isEarlier: boolean | undefined;
    const onProgress = ({ status }: Task) => {
      isEarlier ??= isTerminal(status);
    };
    const task = await this.#client.jobs.wait(job_id, { signal, onProgress });
    const written = await downloadModel(this.#client, task, model, { signal });
    const sides = viewSides.filter((side) => photos.views[side]).join(', ');
    say(`${tick()} ${name}${sides && ` (${sides})`}  ${bytes(written.bytes)}, ${duration(Date.now() - startedAt)}`);
    // Its warnings are a courtesy.
    const job = await findJob(this.#client, job_id, signal).catch(() => undefined);
    for (const sentence of describeWarnings(job?.warnings ?? [])) say(`warning: ${name}: ${sentence}`);
    if (isEarlier) {
      const made = `This photo had a job: its model was made on ${task.finished_at?.slice(0, 10)}`;
      say(`  ${made}. To make it again, delete ${shownName(basename(model))} and run \`gen3d delete ${job_id}\``);
    }
    if (this.#options.json) printJson(task);
    else print(shownName(model));
  }
}

/** Makes a key that the same photos always have, and with it the same job. */
async function keyOf({ image, views = {} }: { image: File; views?: Partial<Record<ViewSide, File>> }): Promise<string> {
  const hash = createHash('sha256').update(await image.bytes());
  for (const side of viewSides) if (views[side]) hash.update(side).update(await views[side].bytes());
  return `watch-${hash.digest('hex')}`;
}

const isTemporary = (error: unknown) =>
  [ConnectionError, RateLimitError, ServerError, InsufficientBalanceError].some((type) => error instanceof type);
