import type { Balance, Task, TaskUpdatedEvent } from '@gen3d/schema';
import { having, publicTestKey, trimmed } from '@gen3d/schema/rules';
import { type RequestOptions, withDeadline } from './deadline.js';
import { variable } from './environment.js';
import { AuthenticationError, InvalidRequestError, RequestTimeoutError } from './errors.js';
import { type EventsOptions, readEvents } from './event-stream.js';
import { type ImageInput, isRemote } from './image-input.js';
import { type CreateJobParams, Jobs } from './jobs.js';
import type { Sharp } from './sharp.js';
import { type Fetch, isAnything, type Method, type Retry, type RouteRequestOptions, Transport } from './transport.js';
import type { WaitOptions } from './wait.js';
import { WebhookEndpointSettings } from './webhook-endpoint.js';

export interface Gen3dOptions {
  /** Default: the environment variable GEN3D_API_KEY. */
  readonly apiKey?: string | undefined;
  /** The server's URL without /v1. Default: the environment variable GEN3D_BASE_URL, then http://127.0.0.1:8787. */
  readonly baseUrl?: string | undefined;
  /** Limits each attempt, until the last byte of the response. Default 60,000. Each call also accepts a total limit. */
  readonly timeoutMs?: number | undefined;
  /** How often a request is repeated after a 429, a 5xx or a broken connection. Default 3. */
  readonly maxRetries?: number | undefined;
  /** Called before each pause that precedes a repeated request, for example to log it. */
  readonly onRetry?: ((retry: Retry) => void) | undefined;
  /** A custom fetch, for example to use a proxy. Default: the global fetch. */
  readonly fetch?: Fetch | undefined;
  /**
   * The package sharp, which converts images outside of browsers. Default: the installed one. Pass it where it cannot
   * be found by its name: in a bundle, or in Jest.
   */
  readonly sharp?: Sharp | undefined;
}

export interface GenerateOptions extends WaitOptions, Omit<CreateJobParams, 'image'> {
  /** Limits the whole call: creating the job and waiting for it. Default: no limit. */
  readonly timeoutMs?: number | undefined;
}

export interface DownloadOptions extends RequestOptions {
  /** Which file to download: the GLB model, or its JPEG thumbnail. Default: the model. */
  readonly asset?: 'glb' | 'thumbnail' | undefined;
}

export const defaultBaseUrl = 'http://127.0.0.1:8787';

const isBalance = having<Balance>({ balance_usd: 'number', min_balance_usd: 'number', rates: 'object' });

/**
 * A client for a gen3d server, or for any service that implements the same contract.
 *
 * @example
 * const gen3d = new Gen3d({ apiKey, baseUrl: 'http://gpu-box:8787' });
 * const task = await gen3d.generate('photo.jpg');
 * await writeFile('photo.glb', await gen3d.download(task));
 */
export class Gen3d {
  /** The server's URL, without `/v1` or trailing slashes. */
  readonly baseUrl: string;
  readonly jobs: Jobs;
  readonly webhookEndpoint: WebhookEndpointSettings;
  readonly balance: {
    /** Returns the balance, the minimum balance for a new job, and the prices, all in USD. */
    retrieve(options?: RequestOptions): Promise<Balance>;
  };
  readonly #transport: Transport;

  /**
   * @throws {AuthenticationError} if the API key is missing
   * @throws {InvalidRequestError} if `baseUrl` is not an http(s) URL, or has credentials, a query or a fragment
   */
  constructor(options: Gen3dOptions = {}) {
    const apiKey = trimmed(options.apiKey ?? variable('GEN3D_API_KEY') ?? '');
    if (!apiKey) throw new AuthenticationError('forbidden', 'The API key is missing. Pass apiKey or set GEN3D_API_KEY');
    // Headers accept only these characters, and fetch's own error would quote the key.
    if (!/^[\x21-\x7e]+$/.test(apiKey)) {
      const message = 'The API key contains invalid characters. Check that you copied the whole key';
      throw new AuthenticationError('forbidden', message);
    }
    this.baseUrl = normalizeBaseUrl(options.baseUrl ?? variable('GEN3D_BASE_URL') ?? defaultBaseUrl);
    const transport = new Transport({
      baseUrl: this.baseUrl,
      apiKey,
      fetch: options.fetch ?? ((input, init) => fetch(input, init)),
      timeoutMs: options.timeoutMs ?? 60_000,
      maxRetries: options.maxRetries ?? 3,
      onRetry: options.onRetry,
    });
    this.#transport = transport;
    this.jobs = new Jobs(transport, { sharp: options.sharp, isTestKey: apiKey === publicTestKey });
    this.webhookEndpoint = new WebhookEndpointSettings(transport);
    this.balance = {
      retrieve: async (options) => (await transport.call('get', 'balance', isBalance, options)).body,
    };
  }

  /**
   * Calls `jobs.create` and `jobs.wait`, and returns the finished task.
   *
   * @throws {JobFailedError} if the job ends without a model. Also throws the errors of `create` and `wait`
   * @example
   * const task = await gen3d.generate('mug.jpg', { onProgress: ({ progress }) => console.log(`${progress} %`) });
   * console.log(task.model_urls?.glb);
   */
  async generate(image: ImageInput, options: GenerateOptions = {}): Promise<Task> {
    const { onProgress, signal, timeoutMs = Number.POSITIVE_INFINITY, ...params } = options;
    const startedAt = Date.now();
    const { job_id } = await this.jobs.create({ ...params, image }, { signal, timeoutMs });
    return this.jobs.wait(job_id, { signal, onProgress, timeoutMs: startedAt + timeoutMs - Date.now() });
  }

  /**
   * Reads the events of the account's jobs as they happen: the objects that webhooks receive. Continues after a broken
   * connection without a gap or a repetition. Only gen3d's own server has this.
   *
   * @throws {ConnectionError} if the server cannot be reached at first
   * @throws {NotFoundError} if the server has no stream of events, or the account has no such job
   * @example
   * for await (const { task_id, status } of gen3d.events()) console.log(task_id, status);
   */
  events(options: EventsOptions = {}): AsyncGenerator<TaskUpdatedEvent, void> {
    return readEvents(this.#transport, options);
  }

  /**
   * Calls a route for which this client has no method, with its API key, timeouts, retries and errors.
   *
   * @param path from the server's root, such as `/gen3d/jobs`
   * @returns the parsed body, unchecked. Undefined if there is none
   * @example
   * const jobs = await gen3d.request('get', '/gen3d/jobs', { searchParams: { limit: 5 } });
   */
  async request(method: Method, path: `/${string}`, options: RouteRequestOptions = {}): Promise<unknown> {
    return (await this.#transport.call(method, path, isAnything, options)).body;
  }

  /**
   * Downloads the model (GLB) or the thumbnail (JPEG) of a finished job.
   *
   * @param source the task, its id, or the http(s) URL of a file
   * @throws {InvalidRequestError} if the task does not have the file
   * @example
   * await writeFile('mug.glb', await gen3d.download(jobId));
   * await writeFile('mug.jpg', await gen3d.download(jobId, { asset: 'thumbnail' }));
   */
  async download(source: Task | string | URL, options: DownloadOptions = {}): Promise<Uint8Array> {
    const { asset = 'glb', ...limits } = options;
    // JavaScript callers may pass the URL of a job that has no model.
    if (!source) throw new InvalidRequestError('invalid_request', 'download takes a task, its id or the URL of a file');
    const isId = typeof source === 'string' && !isRemote(source);
    let url = isId ? this.#transport.url(`jobs/${encodeURIComponent(source)}`) : fileUrl(source, asset);
    const timeoutError = (timeoutMs: number) => new RequestTimeoutError({ method: 'get', url }, timeoutMs);
    return withDeadline(limits, timeoutError, async (signal) => {
      if (isId) url = fileUrl(await this.jobs.retrieve(source, { signal }), asset);
      return this.#transport.fetchBytes(url, { signal });
    });
  }
}

/** @throws {InvalidRequestError} if the task does not have the file */
function fileUrl(source: Task | string | URL, asset: 'glb' | 'thumbnail'): string {
  if (typeof source === 'string' || source instanceof URL) return String(source);
  const { task_id, status, model_urls, thumbnail_url } = source;
  const url = asset === 'glb' ? model_urls?.glb : thumbnail_url;
  if (url) return url;
  const name = asset === 'glb' ? 'model' : 'thumbnail';
  throw new InvalidRequestError('invalid_request', `Job ${task_id} is ${status} and has no ${name}`);
}

function normalizeBaseUrl(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  // `fetch` rejects URLs with credentials.
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    const shown = baseUrl.replace(/\/\/.*@/, '//');
    throw new InvalidRequestError(
      'invalid_request',
      `The base URL "${shown}" is invalid. Use an http(s) URL such as ${defaultBaseUrl}, without a user name, password, query or fragment`,
    );
  }
  // Clients of other services expect /v1 in the base URL.
  return baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '');
}
