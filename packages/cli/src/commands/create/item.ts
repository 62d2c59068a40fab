import { setTimeout as sleep } from 'node:timers/promises';
import type { SamplerSettings, ViewSide } from '@gen3d/schema/rules';
import {
  AuthenticationError,
  ConnectionError,
  type CreateJobParams,
  type CreateJobResponse,
  type Gen3d,
  JobFailedError,
  RateLimitError,
} from '@gen3d/sdk';
import pMap from 'p-map';
import type { ServerOptions } from '../../connection/client.js';
import { exitCode, Failed, failureOf, Interrupted } from '../../exit/failure.js';
import type { ResultOptions } from '../../jobs/output-file.js';
import { labelOf, photoInput } from '../../jobs/photo-input.js';
import { type PhotoSet, readPhotos } from '../../jobs/photo-set.js';
import { cross } from '../../terminal/terminal.js';

export type CreateOptions = ServerOptions &
  ResultOptions &
  SamplerSettings &
  Partial<Record<ViewSide, string>> & { readonly option?: Readonly<Record<string, string>> };

/** The photos of an object and the state of their job. */
export interface Item {
  readonly photos: PhotoSet;
  readonly name: string;
  /** Where the model is written. Undefined without --wait. */
  readonly path: string | undefined;
  /** For all items, as are the settings. */
  readonly turns: Turns;
  readonly settings: Omit<CreateJobParams, 'image' | 'views' | 'label'>;
  /** The id of the job while it runs. */
  runningJob?: string | undefined;
  /** The id of the job once its model is written. */
  finishedJob?: string;
  /** Whether the request was sent, but its response has not arrived. */
  awaitingResponse?: boolean;
}

type Turns = <T>(work: () => Promise<T>) => Promise<T>;

/** Runs work one after the other, in the order of the calls, to queue the jobs in the order of the arguments. */
export function inTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work, work);
    last = result;
    return result;
  };
}

/** How long to wait before retrying after a 429 without `Retry-After`. */
const defaultPauseMs = 5_000;
export const limitReached = (reason: string) =>
  `the server's queue is full for now; waiting for a free place. ${reason}`;

/**
 * Creates the job of an item. Retries while the server rejects further requests or unfinished jobs, because a batch may
 * be larger than the account's limit of unfinished jobs.
 */
export async function createJob(
  client: Gen3d,
  item: Item,
  signal: AbortSignal,
  onLimit: (reason: string) => void,
  onSend?: () => void,
): Promise<CreateJobResponse> {
  const photos = readPhotos(item.photos, (photo) => photoInput(photo, signal));
  // Handled below, in the order of the items.
  photos.catch(() => {});
  return item.turns(async () => {
    const params = { ...(await photos), label: labelOf(item.photos.front), ...item.settings };
    for (;;) {
      signal.throwIfAborted();
      onSend?.();
      item.awaitingResponse = true;
      try {
        return await client.jobs.create(params, { signal });
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

/** Names the photos that may or may not have a job. Empty if there are none. */
export function unknownJobsHint(items: readonly Item[]): string {
  const names = items.filter((item) => item.awaitingResponse && !item.runningJob).map(({ name }) => name);
  if (names.length === 0) return '';
  return `The server has not confirmed a job for ${names.join(', ')}. If there is one, \`gen3d list\` shows it`;
}

// Enough to keep the queue of a server full, but far below the limit of 50 requests per second for all clients.
const concurrency = 8;

/**
 * Processes the items concurrently. Reports the failure of an item and continues, except for a single item and for
 * errors that affect all items: Ctrl-C, a rejected key and an unreachable server.
 *
 * @returns the number of failures
 */
export async function forEach(
  items: readonly Item[],
  signal: AbortSignal,
  report: (line: string, item: Item) => void,
  work: (item: Item, signal: AbortSignal) => Promise<void>,
): Promise<number> {
  const stopAll = new AbortController();
  const stop = AbortSignal.any([signal, stopAll.signal]);
  let failures = 0;
  const process = async (item: Item) => {
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
  };
  await pMap(items, process, { concurrency });
  return failures;
}
