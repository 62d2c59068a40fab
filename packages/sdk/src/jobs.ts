import type { CreateJobResponse, ImageTo3dRequest, JobStatus, ListJobsResponse, Task } from '@gen3d/schema';
import {
  encodeLabel,
  encodeSampler,
  having,
  isJobPage,
  isTask,
  jobType,
  labelHeader,
  readEstimate,
  repeatKeyHeader,
  type SamplerSettings,
  samplerHeader,
} from '@gen3d/schema/rules';
import { type RequestOptions, withDeadline } from './deadline.js';
import { RequestTimeoutError } from './errors.js';
import { type ImageInput, invalid, labelOf } from './image-input.js';
import { type JobInput, type PhotoOptions, readPhotos, type Views } from './photos.js';
import { isAnything, type Transport } from './transport.js';
import { type WaitOptions, waitForJob } from './wait.js';

export interface CreateJobParams {
  /** The photo of the object, from its front. */
  readonly image: ImageInput;
  /**
   * Photos of other sides: `{ left: 'l.jpg', back: 'b.jpg' }`. Left is where the photographer of the front finds it. A
   * photo that does not fit the others is left out with a warning. Only gen3d servers have this.
   */
  readonly views?: Views | undefined;
  /** Repeating a key returns the original job instead of creating another one. Default: a new key for each call. */
  readonly idempotencyKey?: string | undefined;
  /** A name for people, which the dashboard and `gen3d list` show. Default: the name of the photo's file. */
  readonly label?: string | undefined;
  /**
   * For networks that make a model in steps, such as TripoSG: another seed makes another model, and more steps take
   * longer. Other networks fail the job. Only gen3d servers have this. Default: the network's settings.
   */
  readonly sampler?: SamplerSettings | undefined;
  /**
   * Options for a bundle that has its model server, such as `{ quality: '1024' }`. Only those that the bundle lists
   * have an effect.
   */
  readonly options?: Readonly<Record<string, string | number | boolean>> | undefined;
}

export interface ListJobsParams {
  /** Lists jobs whose label contains this text in any case, or whose id starts with it. Only on gen3d servers. */
  readonly search?: string | undefined;
  /** Lists only jobs with this status. Default: all. */
  readonly status?: JobStatus | undefined;
  /** The number of jobs per page, 1 to 100. Default 20. */
  readonly limit?: number | undefined;
  /** Continues after a page: pass the `next_cursor` of that page. */
  readonly cursor?: string | undefined;
}

export interface RetryOptions extends RequestOptions {
  /** Other settings than the job had. Another seed makes another model of the same photo. */
  readonly sampler?: SamplerSettings | undefined;
}

export class Jobs {
  readonly #transport: Transport;
  readonly #photoOptions: PhotoOptions;

  constructor(transport: Transport, photoOptions: PhotoOptions) {
    this.#transport = transport;
    this.#photoOptions = photoOptions;
  }

  /**
   * Creates a job for a photo. To get the model, call `wait` or receive webhooks.
   *
   * All retries send the same idempotency key, so a lost response never creates a second job. A proxy in front of the
   * server must accept requests of 8 MiB (in nginx: `client_max_body_size 8m`).
   * @throws {InvalidRequestError} before sending anything, if the image cannot be read or is too large
   * @throws {InsufficientBalanceError} if the balance is below the minimum
   * @throws {RequestTimeoutError} if `timeoutMs` elapses. The job may exist: to be able to repeat the call without
   *   creating a second job, pass an `idempotencyKey`
   * @example
   * const { job_id } = await gen3d.jobs.create({ image: 'mug.jpg', idempotencyKey: 'order-1042' });
   */
  create(params: CreateJobParams, options: RequestOptions = {}): Promise<CreateJobResponse> {
    const request = { method: 'post', url: this.#transport.url('jobs') };
    const timeoutError = (timeoutMs: number) => new RequestTimeoutError(request, timeoutMs);
    return withDeadline(options, timeoutError, async (signal) => {
      const call = { ...(await jobRequest(params, this.#photoOptions)), signal, repeatable: true };
      return (await this.#transport.call('post', 'jobs', isCreatedJob, call)).body;
    });
  }

  /**
   * Returns the current state of a job.
   *
   * @throws {NotFoundError} if the account has no such job
   * @example
   * const { status, model_urls } = await gen3d.jobs.retrieve(jobId);
   */
  async retrieve(id: string, options?: RequestOptions): Promise<Task> {
    return (await this.#read(id, options)).task;
  }

  /**
   * Lists the account's jobs, newest first, as tasks, which have no label. `gen3d.request('get', '/gen3d/jobs')`
   * returns the labels, too.
   *
   * @param options apply to each page
   * @example
   * for await (const { task_id, error } of gen3d.jobs.list({ status: 'FAILED' })) console.log(task_id, error?.code);
   */
  list({ cursor, ...query }: ListJobsParams = {}, options?: RequestOptions): JobList {
    const path = query.search === undefined ? 'jobs' : '/gen3d/jobs';
    return new JobList(async (pageCursor) => {
      const searchParams = { ...query, cursor: pageCursor };
      return (await this.#transport.call('get', path, isJobPage, { ...options, searchParams })).body;
    }, cursor);
  }

  /**
   * Waits until the job succeeds. Polls it twice a second at first, and later every few seconds.
   *
   * @throws {JobFailedError} if the job ends without a model. The error contains the task
   * @throws {WaitTimeoutError} if `timeoutMs` elapses. The job continues
   * @example
   * const task = await gen3d.jobs.wait(jobId, { timeoutMs: 120_000 });
   */
  wait(id: string, options?: WaitOptions): Promise<Task> {
    return waitForJob(id, (signal) => this.#read(id, { signal }), options);
  }

  /**
   * Cancels an unfinished job, and returns it. It costs nothing, also in the middle of its inference. Only gen3d's own
   * server has this.
   *
   * @throws {InvalidRequestError} not_cancelable, if it is finished
   * @throws {NotFoundError} if the account has no such job
   * @example
   * for await (const { task_id } of gen3d.jobs.list({ status: 'QUEUED' })) await gen3d.jobs.cancel(task_id);
   */
  async cancel(id: string, options?: RequestOptions): Promise<Task> {
    const request = { ...options, repeatable: true };
    return (await this.#transport.call('post', `/gen3d/jobs/${segment(id)}/cancel`, isTask, request)).body;
  }

  /**
   * Creates a job with the photos, the label and the settings of a finished one, while the server keeps its photos. For
   * a job that failed or was canceled, repeating the call returns the same new job. For one that succeeded, each call
   * makes another model, with the current bundle or another `sampler`. Only gen3d's own server has this.
   *
   * @throws {InvalidRequestError} not_retryable, if the server does not have the photo, or the job is not finished
   * @throws {InsufficientBalanceError} if the balance is below the minimum
   * @throws {NotFoundError} if the account has no such job
   */
  async retry(id: string, { sampler, ...options }: RetryOptions = {}): Promise<CreateJobResponse> {
    const headers = { ...samplerHeaders(sampler), [repeatKeyHeader]: newIdempotencyKey() };
    const request = { ...options, headers, repeatable: true };
    return (await this.#transport.call('post', `/gen3d/jobs/${segment(id)}/retry`, isCreatedJob, request)).body;
  }

  /**
   * Deletes a job with its model, photo and label. Its URLs then return 410. A waiting job is not started. Repeating
   * the call does nothing. Only gen3d's own server has this.
   *
   * @throws {InvalidRequestError} not_deletable, while the job is in inference
   * @throws {NotFoundError} if the account has no such job
   * @example
   * await gen3d.jobs.delete(jobId); // the model's URL returns 410 from now on
   */
  async delete(id: string, options?: RequestOptions): Promise<void> {
    await this.#transport.call('delete', `/gen3d/jobs/${segment(id)}`, isAnything, options);
  }

  async #read(id: string, options?: RequestOptions) {
    const { body: task, headers } = await this.#transport.call('get', `jobs/${segment(id)}`, isTask, options);
    return { task, estimate: readEstimate(headers) };
  }
}

/** Makes a job's id a part of a path. */
function segment(id: string): string {
  // These would address another resource, even percent-encoded. JavaScript callers may pass an undefined `job.id`.
  if (typeof id !== 'string' || ['', '.', '..'].includes(id)) throw invalid(`"${id}" is not a job id`);
  return encodeURIComponent(id);
}

const isCreatedJob = having<CreateJobResponse>({ job_id: 'string' });

/**
 * Returns the body and the headers of `POST /v1/jobs`, for programs that send the request themselves, such as through
 * their own server.
 *
 * @throws {InvalidRequestError} if the image cannot be read or is too large
 * @example
 * const { json, headers } = await createJobRequest({ image: file, label: file.name });
 * await fetch('/my-server/models', { method: 'POST', body: JSON.stringify(json), headers });
 */
export async function createJobRequest(params: CreateJobParams): Promise<JobRequest> {
  return jobRequest(params, {});
}

interface JobRequest {
  json: ImageTo3dRequest & { input: JobInput };
  headers: Record<string, string>;
}

async function jobRequest(params: CreateJobParams, photoOptions: PhotoOptions): Promise<JobRequest> {
  // JavaScript callers may pass nothing.
  const { image, views, idempotencyKey = newIdempotencyKey(), sampler, options = {} } = params ?? {};
  const input = await readPhotos(image, views, photoOptions);
  const label = encodeLabel(params.label ?? labelOf(image) ?? '');
  return {
    json: {
      type: jobType,
      input,
      idempotency_key: idempotencyKey,
      ...(Object.keys(options).length > 0 && { options }),
    },
    headers: { ...(label && { [labelHeader]: label }), ...samplerHeaders(sampler) },
  };
}

/** @throws {InvalidRequestError} if a setting is out of range */
function samplerHeaders(sampler: SamplerSettings = {}): Record<string, string> {
  try {
    const value = encodeSampler(sampler);
    return value === undefined ? {} : { [samplerHeader]: value };
  } catch (error) {
    throw invalid((error as RangeError).message);
  }
}

/** Makes a new key for `idempotencyKey`, to keep for a call that may have to be repeated. */
export function newIdempotencyKey(): string {
  // Browsers have randomUUID only on https and localhost, but gen3d often runs on plain http in a local network.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return `sdk-${hex}`;
}

/**
 * An account's jobs, newest first. Pages are requested only when they are needed.
 *
 * @example
 * for await (const task of gen3d.jobs.list({ status: 'FAILED' })) console.log(task.task_id); // all jobs
 * const { jobs, next_cursor } = await gen3d.jobs.list({ limit: 20 }).page(); // one page
 */
export class JobList implements AsyncIterable<Task> {
  readonly #fetchPage: (cursor: string | undefined) => Promise<ListJobsResponse>;
  readonly #first: string | undefined;

  constructor(fetchPage: (cursor: string | undefined) => Promise<ListJobsResponse>, first: string | undefined) {
    this.#fetchPage = fetchPage;
    this.#first = first;
  }

  /** Requests one page: the first, or the one after a `next_cursor`. */
  page(cursor: string | undefined = this.#first): Promise<ListJobsResponse> {
    return this.#fetchPage(cursor);
  }

  /** Iterates over all pages. Requests each only after the previous one has been consumed. */
  async *pages(): AsyncGenerator<ListJobsResponse, void, undefined> {
    let cursor = this.#first;
    do {
      const page = await this.#fetchPage(cursor);
      yield page;
      cursor = page.next_cursor;
    } while (cursor !== undefined);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Task, void, undefined> {
    for await (const { jobs } of this.pages()) yield* jobs;
  }
}
