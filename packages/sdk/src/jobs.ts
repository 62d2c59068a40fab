import type { CreateJobResponse, ImageTo3dRequest, JobStatus, ListJobsResponse, Task } from '@gen3d/schema';
import { encodeLabel, jobType, labelHeader } from '@gen3d/schema/rules';
import { abortable, type RequestOptions, withDeadline } from './deadline.js';
import { InvalidRequestError, RequestTimeoutError } from './errors.js';
import { type ImageInput, toImageUrl } from './image-input.js';
import { expectBody, having, isJobPage, isTask } from './response-bodies.js';
import type { Transport } from './transport.js';
import { type WaitOptions, waitForJob } from './wait.js';

export interface CreateJobParams {
  readonly image: ImageInput;
  /** Repeating a key returns the original job instead of creating another one. Default: a new key for each call. */
  readonly idempotencyKey?: string | undefined;
  /** A human-readable name, such as the photo's file name. The dashboard and `gen3d list` show it. Default: none. */
  readonly label?: string | undefined;
}

export interface ListJobsParams {
  /** Only jobs with this status. Default: all. */
  readonly status?: JobStatus | undefined;
  /** The number of jobs per page, 1 to 100. Default 20. */
  readonly limit?: number | undefined;
  /** The `next_cursor` of a page, to continue after it. */
  readonly cursor?: string | undefined;
}

export class Jobs {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Creates a job for a photo. To get the model, call `wait` or receive webhooks.
   *
   * All retries send the same idempotency key, so a lost response never creates a second job.
   * @throws {InvalidRequestError} before sending anything, if the image cannot be read or is too large
   * @throws {InsufficientBalanceError} if the balance is below the minimum
   * @throws {RequestTimeoutError} if `timeoutMs` elapses. The job may exist: to be able to repeat the call without
   *   creating a second job, pass an `idempotencyKey`
   */
  create(params: CreateJobParams, options: RequestOptions = {}): Promise<CreateJobResponse> {
    const request = { method: 'post', url: this.#transport.url('jobs') };
    const timeoutError = (timeoutMs: number) => new RequestTimeoutError(request, timeoutMs);
    return withDeadline(options, timeoutError, async (signal) => {
      const content = await abortable(createJobRequest(params), signal);
      const { body } = await this.#transport.call('post', 'jobs', { ...content, signal });
      return expectBody(body, having<CreateJobResponse>({ job_id: 'string' }), 'created job');
    });
  }

  /** The current state of a job. @throws {NotFoundError} if the account has no such job */
  async retrieve(id: string, options?: RequestOptions): Promise<Task> {
    return (await this.#read(id, options)).task;
  }

  /**
   * Lists the account's jobs, newest first.
   *
   * @param options apply to each page
   */
  list({ cursor, ...query }: ListJobsParams = {}, options?: RequestOptions): JobList {
    return new JobList(async (pageCursor) => {
      const searchParams = { ...query, cursor: pageCursor };
      const { body } = await this.#transport.call('get', 'jobs', { ...options, searchParams });
      return expectBody(body, isJobPage, 'list of jobs');
    }, cursor);
  }

  /**
   * Polls the job until it succeeds: every few seconds, or when the server expects it to be finished.
   *
   * @throws {JobFailedError} if the job ends without a model. The error contains the task
   * @throws {WaitTimeoutError} if `timeoutMs` elapses. The job continues
   */
  wait(id: string, options?: WaitOptions): Promise<Task> {
    return waitForJob(id, (signal) => this.#read(id, { signal }), options);
  }

  async #read(id: string, options?: RequestOptions) {
    // As a path segment, these would address another resource, even percent-encoded.
    if (['', '.', '..'].includes(id)) throw new InvalidRequestError('invalid_request', `"${id}" is not a job id`);
    const { body, ...pauses } = await this.#transport.call('get', `jobs/${encodeURIComponent(id)}`, options);
    return { task: expectBody(body, isTask, 'task'), ...pauses };
  }
}

/**
 * The body and the headers of `POST /v1/jobs`, for programs that send it in another way, such as through their own server.
 *
 * @throws {InvalidRequestError} if the image cannot be read or is too large
 * @example
 * const { json, headers } = await createJobRequest({ image: file, label: file.name });
 * await fetch('/my-server/models', { method: 'POST', body: JSON.stringify(json), headers });
 */
export async function createJobRequest({
  image,
  idempotencyKey = newIdempotencyKey(),
  label = '',
}: CreateJobParams): Promise<{ json: ImageTo3dRequest; headers: Record<string, string> }> {
  const input = { image_urls: [await toImageUrl(image)] };
  const encodedLabel = encodeLabel(label);
  return {
    json: { type: jobType, input, idempotency_key: idempotencyKey },
    headers: encodedLabel === undefined ? {} : { [labelHeader]: encodedLabel },
  };
}

/** A new key for `idempotencyKey`, to keep for a call that may have to be repeated. */
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

  /** One page: the first one, or the one after a `next_cursor`. */
  page(cursor: string | undefined = this.#first): Promise<ListJobsResponse> {
    return this.#fetchPage(cursor);
  }

  /** All pages, each requested only after the previous one has been consumed. */
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
