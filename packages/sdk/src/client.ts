import type { Balance, Task } from '@gen3d/schema';
import { type RequestOptions, timeLeft } from './deadline.js';
import { variable } from './environment.js';
import { AuthenticationError, InvalidRequestError } from './errors.js';
import type { ImageInput } from './image-input.js';
import { type CreateJobParams, Jobs } from './jobs.js';
import { expectBody, isBalance } from './response-bodies.js';
import { type Fetch, Transport } from './transport.js';
import type { WaitOptions } from './wait.js';
import { WebhookEndpointSettings } from './webhook-endpoint.js';

export interface Gen3dOptions {
  /** Default: the variable GEN3D_API_KEY. */
  readonly apiKey?: string | undefined;
  /** The server's address, without /v1. Default: the variable GEN3D_BASE_URL, then http://127.0.0.1:8787. */
  readonly baseUrl?: string | undefined;
  /** For each attempt, from its start to the last byte of the answer. Default 60 000. Every call also takes its own, in all. */
  readonly timeoutMs?: number | undefined;
  /** Further attempts after a 429, a 5xx or a broken connection. Default 3. */
  readonly maxRetries?: number | undefined;
  /** Another fetch, e.g. one that goes through a proxy. Default: the global one. */
  readonly fetch?: Fetch | undefined;
}

export interface GenerateOptions extends WaitOptions, Pick<CreateJobParams, 'idempotencyKey'> {
  /** How long handing in and waiting may take in all. Default: until the job ends, however long the queue is. */
  readonly timeoutMs?: number | undefined;
}

export interface DownloadOptions extends RequestOptions {
  /** The model, or its JPEG thumbnail. Default: the model. */
  readonly asset?: 'glb' | 'thumbnail' | undefined;
}

export const defaultBaseUrl = 'http://127.0.0.1:8787';

/**
 * A client of one gen3d server, or of any service that keeps the same contract.
 *
 * @example
 * const gen3d = new Gen3d({ apiKey, baseUrl: 'http://gpu-box:8787' });
 * const task = await gen3d.generate('photo.jpg');
 * await writeFile('photo.glb', await gen3d.download(task));
 */
export class Gen3d {
  /** The server's address as it is used, without /v1 and a slash at its end. */
  readonly baseUrl: string;
  readonly jobs: Jobs;
  readonly webhookEndpoint: WebhookEndpointSettings;
  readonly balance: {
    /** Balance, minimum and prices in USD. */
    retrieve(options?: RequestOptions): Promise<Balance>;
  };
  readonly #transport: Transport;

  /** @throws {AuthenticationError} if no key is given; @throws {InvalidRequestError} if `baseUrl` is no http(s) URL */
  constructor(options: Gen3dOptions = {}) {
    const apiKey = (options.apiKey ?? variable('GEN3D_API_KEY'))?.trim();
    if (!apiKey) throw new AuthenticationError('forbidden', 'No API key: pass apiKey, or set GEN3D_API_KEY');
    // A header takes nothing else, and fetch's own complaint would repeat the key in a log.
    if (!/^[\x21-\x7e]+$/.test(apiKey)) {
      throw new AuthenticationError('forbidden', 'The API key holds characters that no key has: was it copied whole?');
    }
    this.baseUrl = address(options.baseUrl ?? variable('GEN3D_BASE_URL') ?? defaultBaseUrl);
    const transport = new Transport({
      baseUrl: this.baseUrl,
      apiKey,
      fetch: options.fetch ?? ((input, init) => fetch(input, init)),
      timeoutMs: options.timeoutMs ?? 60_000,
      maxRetries: options.maxRetries ?? 3,
    });
    this.#transport = transport;
    this.jobs = new Jobs(transport);
    this.webhookEndpoint = new WebhookEndpointSettings(transport);
    this.balance = {
      async retrieve(options) {
        const { body } = await transport.call('get', 'balance', options);
        return expectBody(body, isBalance, 'balance');
      },
    };
  }

  /**
   * `jobs.create` and `jobs.wait` in one: a photo in, the finished task out.
   *
   * @throws {JobFailedError} if the job ends without a model, and whatever `create` and `wait` throw
   */
  async generate(image: ImageInput, { idempotencyKey, ...options }: GenerateOptions = {}): Promise<Task> {
    const { signal, timeoutMs } = options;
    const left = timeLeft(timeoutMs);
    const { job_id } = await this.jobs.create({ image, idempotencyKey }, { signal, timeoutMs });
    return this.jobs.wait(job_id, { ...options, timeoutMs: left() });
  }

  /**
   * The bytes of a finished job's model (GLB) or thumbnail (JPEG).
   *
   * @param source the task, its id, or the http(s) URL of a file
   * @throws {InvalidRequestError} if the task has no such file (yet)
   */
  async download(source: Task | string | URL, options: DownloadOptions = {}): Promise<Uint8Array> {
    const { asset = 'glb', signal, timeoutMs } = options;
    const left = timeLeft(timeoutMs);
    if (source instanceof URL) return this.#transport.fetchBytes(source.href, options);
    if (typeof source === 'string' && /^https?:/i.test(source)) return this.#transport.fetchBytes(source, options);
    const task = typeof source === 'string' ? await this.jobs.retrieve(source, { signal, timeoutMs }) : source;
    const url = asset === 'glb' ? task.model_urls?.glb : task.thumbnail_url;
    if (!url) {
      const what = asset === 'glb' ? 'model' : 'thumbnail';
      throw new InvalidRequestError('invalid_request', `Job ${task.task_id} is ${task.status} and has no ${what}`);
    }
    return this.#transport.fetchBytes(url, { signal, timeoutMs: left() });
  }
}

function address(baseUrl: string): string {
  if (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol)) {
    throw new InvalidRequestError('invalid_request', `"${baseUrl}" is no base URL: it looks like ${defaultBaseUrl}`);
  }
  // Other services' clients want /v1 in the base URL, and habits travel.
  return baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '');
}
