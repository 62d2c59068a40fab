import type { Options } from 'ky';
import ky, { HTTPError, TimeoutError } from 'ky';
import { ConnectionError, type Gen3dError, ServerError } from './errors.js';
import { refusal } from './refusal.js';
import { requestId } from './request-id.js';

export type Fetch = typeof globalThis.fetch;

export interface TransportOptions {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly fetch: Fetch;
  readonly timeoutMs: number;
  readonly maxRetries: number;
}

export interface Call {
  readonly json?: unknown;
  readonly searchParams?: Record<string, string | number | undefined>;
  readonly signal?: AbortSignal | undefined;
  /** False where doing it twice is not the same as doing it once: then only a 429 is tried again. */
  readonly repeatable?: boolean;
}

/** Parsed, not yet checked; `body` is undefined where the answer had none. */
export interface Answer {
  readonly body: unknown;
  readonly headers: Headers;
}

type Method = 'get' | 'post' | 'put' | 'delete';

const retriedStatuses = [429, 500, 502, 503, 504];
const longestRetryAfterMs = 60_000;

/** One way to the server for every resource: key, retries, timeouts, and errors by their `code`. */
export class Transport {
  readonly #options: TransportOptions;
  readonly #ky: Options;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#ky = {
      fetch: wholeAnswer(options.fetch),
      timeout: options.timeoutMs,
      retry: {
        limit: options.maxRetries,
        // POST too: a job's creation carries an idempotency key, and the others say when they are not repeatable.
        methods: ['get', 'post', 'put', 'delete'],
        statusCodes: retriedStatuses,
        afterStatusCodes: retriedStatuses,
        maxRetryAfter: longestRetryAfterMs,
        retryOnTimeout: true,
        delay: (attempt) => 500 * 2 ** (attempt - 1),
        backoffLimit: 8_000,
        // Spread, but never near zero: clients refused together must not come back together, nor at once.
        jitter: (delay) => delay * (0.5 + Math.random()),
      },
    };
  }

  async call(method: Method, path: string, { repeatable = true, signal, ...request }: Call = {}): Promise<Answer> {
    const { baseUrl, apiKey } = this.#options;
    const response = await this.#send(`${baseUrl}/v1/${path}`, {
      ...this.#ky,
      ...request,
      method,
      headers: { accept: 'application/json', authorization: `Bearer ${apiKey}` },
      ...(signal && { signal }),
      ...(!repeatable && { retry: { ...this.#retry, shouldRetry: onlyWhenTurnedAway } }),
    });
    if (response.status === 204) return { body: undefined, headers: response.headers };
    const text = await response.text();
    try {
      return { body: JSON.parse(text), headers: response.headers };
    } catch (cause) {
      throw new ServerError(
        'invalid_response',
        `${baseUrl} answered ${response.status} with something that is no JSON: is it a gen3d server?`,
        { status: response.status, requestId: requestId(response), cause },
      );
    }
  }

  /** A file's bytes. Without the key: assets may live on another host, and they are public. */
  async fetchBytes(url: string, { signal }: { signal?: AbortSignal | undefined } = {}): Promise<Uint8Array> {
    const response = await this.#send(url, { ...this.#ky, method: 'get', ...(signal && { signal }) });
    return new Uint8Array(await response.arrayBuffer());
  }

  get #retry() {
    const { retry } = this.#ky;
    return typeof retry === 'object' ? retry : {};
  }

  async #send(url: string, options: Options): Promise<Response> {
    try {
      return await ky(url, options);
    } catch (error) {
      options.signal?.throwIfAborted();
      if (error instanceof HTTPError) throw await refusal(error.response, url);
      throw lost(error, new URL(url).origin, this.#options.timeoutMs);
    }
  }
}

/**
 * A fetch that resolves only when the whole body is here. ky's timeout and retries end where fetch resolves, and by
 * default that is at the headers: a connection cut in the middle of a body would be neither.
 */
function wholeAnswer(fetch: Fetch): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    const { status, statusText, headers } = response;
    const bytes = await response.arrayBuffer();
    return new Response(bytes.byteLength === 0 ? null : bytes, { status, statusText, headers });
  };
}

const onlyWhenTurnedAway = ({ error }: { error: Error }) => error instanceof HTTPError && error.response.status === 429;

function lost(error: unknown, origin: string, timeoutMs: number): Gen3dError {
  if (error instanceof TimeoutError) {
    return new ConnectionError('timeout', `${origin} did not answer within ${timeoutMs / 1000} s`, { cause: error });
  }
  return new ConnectionError('connection_failed', `Cannot reach ${origin}: ${reason(error)}`, { cause: error });
}

/** undici hides what happened one or two causes deep, under "fetch failed". */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return reason(error.cause);
  if (error instanceof AggregateError && error.errors.length > 0) return reason(error.errors[0]);
  return error.message;
}
