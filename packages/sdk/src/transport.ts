import type { Options } from 'ky';
import ky, { HTTPError, TimeoutError } from 'ky';
import { abortable, longestTimerMs, type RequestOptions, withDeadline } from './deadline.js';
import { errorFrom, requestId, retryAfterMs } from './error-response.js';
import { ConnectionError, RequestTimeoutError, ServerError } from './errors.js';

export type Fetch = typeof globalThis.fetch;

export interface TransportOptions {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly fetch: Fetch;
  readonly timeoutMs: number;
  readonly maxRetries: number;
}

export interface Call extends RequestOptions {
  readonly json?: unknown;
  readonly searchParams?: Record<string, string | number | undefined>;
  /** False where doing it twice is not the same as doing it once: then only a 429 is tried again. */
  readonly repeatable?: boolean;
}

/** A parsed but unchecked response. */
export interface ApiResponse {
  /** Undefined if the response had no body. */
  readonly body: unknown;
  readonly retryAfterMs: number | undefined;
}

type Method = 'get' | 'post' | 'put' | 'delete';

// Every 5xx, as API.md section 7 asks: what stands in front of a server has codes of its own.
const retriedStatuses = [429, ...Array.from({ length: 100 }, (_, index) => 500 + index)];
// Longer than this no call should hang. It then fails with what the server asked for, and never comes back too early.
const longestRetryAfterMs = 60_000;

/** One way to the server for every resource: key, retries, timeouts, and errors by their `code`. */
export class Transport {
  readonly #options: TransportOptions;
  readonly #ky: Options;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#ky = {
      fetch: wholeAnswer(options.fetch),
      timeout: options.timeoutMs <= longestTimerMs && options.timeoutMs,
      retry: {
        limit: options.maxRetries,
        // POST too: a job's creation carries an idempotency key, and the others say when they are not repeatable.
        methods: ['get', 'post', 'put', 'delete'],
        statusCodes: retriedStatuses,
        afterStatusCodes: retriedStatuses,
        retryOnTimeout: true,
        shouldRetry: unlessAskedToStayAway,
        delay: (attempt) => 500 * 2 ** (attempt - 1),
        backoffLimit: 8_000,
        // Spread, but never near zero: clients refused together must not come back together, nor at once.
        jitter: (delay) => delay * (0.5 + Math.random()),
      },
    };
  }

  url(path: string): string {
    return `${this.#options.baseUrl}/v1/${path}`;
  }

  async call(method: Method, path: string, call: Call = {}): Promise<ApiResponse> {
    const { repeatable = true, signal, timeoutMs, ...content } = call;
    const { baseUrl, apiKey } = this.#options;
    const response = await this.#send(method, this.url(path), call, {
      ...content,
      headers: { accept: 'application/json', authorization: `Bearer ${apiKey}` },
      ...(!repeatable && { retry: { ...this.#retry, shouldRetry: onlyWhenTurnedAway } }),
    });
    const pause = retryAfterMs(response.headers, Date.now());
    if (response.status === 204) return { body: undefined, retryAfterMs: pause };
    try {
      return { body: await response.json(), retryAfterMs: pause };
    } catch (cause) {
      throw new ServerError(
        'invalid_response',
        `${baseUrl} answered ${response.status} with something that is no JSON: is it a gen3d server?`,
        { status: response.status, requestId: requestId(response), cause },
      );
    }
  }

  /** A file's bytes. Without the key: assets may live on another host, and they are public. */
  async fetchBytes(url: string, limits: RequestOptions): Promise<Uint8Array> {
    const response = await this.#send('get', url, limits);
    return new Uint8Array(await response.arrayBuffer());
  }

  get #retry() {
    const { retry } = this.#ky;
    return typeof retry === 'object' ? retry : {};
  }

  #send(method: Method, url: string, limits: RequestOptions, options?: Options): Promise<Response> {
    const overdue = (timeoutMs: number) => new RequestTimeoutError({ method, url }, timeoutMs);
    return withDeadline(limits, overdue, async (signal) => {
      try {
        return await abortable(ky(url, { ...this.#ky, ...options, method, signal }), signal);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof HTTPError) throw await errorFrom(error.response, url);
        if (error instanceof TimeoutError) throw overdue(this.#options.timeoutMs);
        const message = `Cannot reach ${new URL(url).origin}: ${reason(error)}`;
        throw new ConnectionError('connection_failed', message, { cause: error });
      }
    });
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

type RetryVerdict = (failed: { error: Error }) => false | undefined;

// undefined leaves the rest to ky; with true it would not look at Retry-After any more.
const unlessAskedToStayAway: RetryVerdict = ({ error }) =>
  error instanceof HTTPError && (retryAfterMs(error.response.headers, Date.now()) ?? 0) > longestRetryAfterMs
    ? false
    : undefined;

const onlyWhenTurnedAway: RetryVerdict = (failed) =>
  failed.error instanceof HTTPError && failed.error.response.status === 429 ? unlessAskedToStayAway(failed) : false;

/** undici hides what happened one or two causes deep, under "fetch failed". */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return reason(error.cause);
  if (error instanceof AggregateError && error.errors.length > 0) return reason(error.errors[0]);
  return error.message;
}
