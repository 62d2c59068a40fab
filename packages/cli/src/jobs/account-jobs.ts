import type { GalleryJob } from '@gen3d/schema/dashboard';
import { isJobPage } from '@gen3d/schema/rules';
import {
  AuthenticationError,
  ConnectionError,
  type Gen3d,
  Gen3dError,
  NotFoundError,
  type RouteRequestOptions,
  ServerError,
  type Task,
} from '@gen3d/sdk';
import { exitCode, Failed, failureOf, UsageError } from '../exit/failure.js';
import { table } from '../terminal/format.js';
import { cross, say } from '../terminal/terminal.js';
import { retrieveJob } from './job.js';

// The routes of docs/job-list.md, which other services with the same API may lack.

/** A job with its label and times. A service without these returns only the task object. */
export type NamedTask = Task & Partial<Omit<GalleryJob, keyof Task>>;

export interface JobPage {
  readonly jobs: readonly NamedTask[];
  readonly next_cursor?: string | undefined;
}

export type ListQuery = NonNullable<RouteRequestOptions['searchParams']>;

/** Lists a page of the account's jobs. A service without labels ignores the parameters that its API does not have. */
export async function listJobs(client: Gen3d, query: ListQuery, signal: AbortSignal): Promise<JobPage> {
  return (await listNamed(client, query, signal)) ?? client.jobs.list(query, { signal }).page();
}

/** Lists jobs with their labels. Undefined if the server has no labels. */
async function listNamed(client: Gen3d, searchParams: ListQuery, signal: AbortSignal): Promise<JobPage | undefined> {
  const body = await unlessNotFound(client.request('get', '/gen3d/jobs', { searchParams, signal }));
  if (body === undefined || isJobPage(body)) return body;
  throw new ServerError('invalid_response', `${client.baseUrl} returned an invalid list of jobs. Update gen3d`);
}

async function unlessNotFound<T>(response: Promise<T>): Promise<T | undefined> {
  return response.catch((error: unknown) => {
    if (!(error instanceof NotFoundError)) throw error;
    return undefined;
  });
}

/** A longer list would not help the user to choose. */
const maxCandidates = 10;

/**
 * Finds the job with an id, or with the start of an id that no other job of the account has.
 *
 * @throws {UsageError} if several ids start with it, with a list of these jobs
 * @throws {Failed} if the account has no such job
 */
export async function findJob(client: Gen3d, id: string, signal: AbortSignal): Promise<NamedTask> {
  if (!/^[0-9a-z]{1,26}$/i.test(id)) return retrieveJob(client, id, signal);
  const page = await listNamed(client, { id, limit: maxCandidates }, signal);
  const [job, ...others] = page?.jobs ?? [];
  // The API throws its own error, or finds the job if it has no labels.
  if (!job) return retrieveJob(client, id, signal);
  if (others.length === 0) return job;
  const candidates = table([job, ...others].map(({ task_id, status, label }) => [`  ${task_id}`, status, label ?? '']));
  const more = page?.next_cursor === undefined ? '' : '\n  and more';
  throw new UsageError(`Several job ids start with ${id}. Add characters to choose one:\n${candidates}${more}`);
}

/** Returns the job's label, or its id if it has none. */
export const nameOf = ({ label, task_id }: NamedTask): string => label ?? task_id;

/**
 * Finds all jobs, then calls `work` for one after the other. Reports the jobs whose request the server refuses, and
 * continues with the others.
 *
 * @throws {Failed} if the server refused a request
 */
export async function forEachJob(
  client: Gen3d,
  ids: readonly string[],
  signal: AbortSignal,
  work: (job: NamedTask) => Promise<void>,
): Promise<void> {
  const jobs = new Map<string, NamedTask>();
  for (const id of ids) {
    const job = await findJob(client, id, signal);
    jobs.set(job.task_id, job);
  }
  let failures = 0;
  for (const job of jobs.values()) {
    try {
      await work(job);
    } catch (error) {
      const affectsAll = error instanceof AuthenticationError || error instanceof ConnectionError;
      if (affectsAll || !(error instanceof Gen3dError)) throw error;
      const { label, task_id } = job;
      const title = label ? `${label} (${task_id})` : task_id;
      const { message } = failureOf(error);
      if (jobs.size === 1) throw new Failed(exitCode.failed, `${title}: ${message}`, { cause: error });
      failures += 1;
      say(`${cross()} ${title}: ${message}`);
    }
  }
  if (failures > 0) throw new Failed(exitCode.failed);
}
