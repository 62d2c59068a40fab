import type { CreateJobResponse, ImageTo3dRequest, JobStatus, Task } from '@gen3d/schema';
import { jobType } from '@gen3d/schema/rules';
import { abortable, type RequestOptions, withDeadline } from './deadline.js';
import { InvalidRequestError, RequestTimeoutError } from './errors.js';
import { type ImageInput, toImageUrl } from './image-input.js';
import { JobList } from './job-list.js';
import { expectBody, isCreated, isJobPage, isTask } from './response-bodies.js';
import type { Transport } from './transport.js';
import { type WaitOptions, waitForJob } from './wait.js';

export interface CreateJobParams {
  readonly image: ImageInput;
  /** The same key again returns the first job instead of making a second. Default: a new one for every call. */
  readonly idempotencyKey?: string | undefined;
}

export interface ListJobsParams {
  /** Only jobs with this status. Default: all. */
  readonly status?: JobStatus | undefined;
  /** Jobs on one page, 1-100. Default 20. */
  readonly limit?: number | undefined;
  /** A `next_cursor` to begin after. */
  readonly cursor?: string | undefined;
}

export class Jobs {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Hands in a photo; the model is made later (`wait`, or a webhook).
   *
   * The idempotency key is made once here and goes with every retry, so that an answer lost on the way never makes a
   * second job.
   * @throws {InvalidRequestError} before anything is sent, if the image cannot be read or is too large
   * @throws {InsufficientBalanceError} if the balance is below the minimum
   * @throws {RequestTimeoutError} if `timeoutMs` runs out. The job may have been made: repeat it with an `idempotencyKey`
   *   of your own, and there is one job
   */
  create(params: CreateJobParams, options: RequestOptions = {}): Promise<CreateJobResponse> {
    const request = { method: 'post', url: this.#transport.url('jobs') };
    const overdue = (timeoutMs: number) => new RequestTimeoutError(request, timeoutMs);
    return withDeadline(options, overdue, async (signal) => {
      const json: ImageTo3dRequest = {
        type: jobType,
        input: { image_urls: [await abortable(toImageUrl(params.image), signal)] },
        idempotency_key: params.idempotencyKey ?? newIdempotencyKey(),
      };
      const { body } = await this.#transport.call('post', 'jobs', { json, signal });
      return expectBody(body, isCreated, 'created job');
    });
  }

  /**
   * The job as it is now.
   *
   * @throws {NotFoundError} if the account has no such job
   */
  async retrieve(id: string, options?: RequestOptions): Promise<Task> {
    return (await this.#read(id, options)).task;
  }

  /**
   * The account's jobs, newest first, page by page.
   *
   * @param options hold for each page: `timeoutMs` is the time that one may take
   */
  list({ cursor, ...query }: ListJobsParams = {}, options?: RequestOptions): JobList {
    return new JobList(async (at) => {
      const searchParams = { ...query, cursor: at };
      const { body } = await this.#transport.call('get', 'jobs', { ...options, searchParams });
      return expectBody(body, isJobPage, 'list of jobs');
    }, cursor);
  }

  /**
   * Reads the job every few seconds until it has its model.
   *
   * @throws {JobFailedError} with the task, if it ends without one
   * @throws {WaitTimeoutError} if `timeoutMs` runs out; the job goes on
   */
  wait(id: string, options?: WaitOptions): Promise<Task> {
    return waitForJob(id, (signal) => this.#read(id, { signal }), options);
  }

  async #read(id: string, options?: RequestOptions) {
    // One with a slash would read another resource, and so would these, which a URL takes for steps in its path.
    if (id === '') throw new InvalidRequestError('invalid_request', 'A job id is needed');
    if (id === '.' || id === '..') throw new InvalidRequestError('invalid_request', `"${id}" is no job's id`);
    const { body, retryAfterMs } = await this.#transport.call('get', `jobs/${encodeURIComponent(id)}`, options);
    return { task: expectBody(body, isTask, 'task'), retryAfterMs };
  }
}

// Not randomUUID: browsers have it only on https and localhost, and gen3d often runs at http://some-box.
function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return `sdk-${hex}`;
}
