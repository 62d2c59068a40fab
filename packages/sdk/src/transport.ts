import {
  type EndpointHealth,
  type JobEstimate,
  publicTestKey,
  readEndpointHealth,
  readEstimate,
} from '@gen3d/schema/rules';
import type { Options } from 'ky';
import ky, { HTTPError, TimeoutError } from 'ky';
import { abortable, maxTimerMs, type RequestOptions, withDeadline } from './deadline.js';
import { errorFrom, requestId, retryAfterMs } from './error-response.js';
import { ConnectionError, Gen3dError, RequestTimeoutError, ServerError } from './errors.js';

// Sends requests so that callers need no retry loop. A request is retried after a 429, a 5xx or a broken connection,
// unless repeating it could do something twice. Creating a job is safe, because all attempts carry the same idempotency
// key. The server's Retry-After is obeyed up to a minute; beyond it, the call fails at once and says when to try again.

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
  readonly headers?: Record<string, string>;
  /** False if the request is not idempotent. Then only a 429 is retried. */
  readonly repeatable?: boolean;
}

/** A parsed but unchecked response. */
export interface ApiResponse {
  /** Undefined if the response had no body. */
  readonly body: unknown;
  readonly retryAfterMs: number | undefined;
  readonly estimate: JobEstimate;
  readonly health: EndpointHealth;
}

export const methods = ['get', 'post', 'put', 'delete'] as const;
export type Method = (typeof methods)[number];

// Every 5xx (docs/contract.md section 7), because proxies add their own status codes.
const retriedStatuses = [429, ...Array.from({ length: 100 }, (_, index) => 500 + index)];
// A call that would have to wait longer fails immediately; it is never retried before the time that the server asked for.
const maxRetryAfterMs = 60_000;

/** Sends the requests of all resources: adds the API key, retries, applies timeouts, and turns failures into errors. */
export class Transport {
  readonly #options: TransportOptions;
  readonly #ky: Options;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#ky = {
      timeout: options.timeoutMs <= maxTimerMs && options.timeoutMs,
      retry: {
        limit: options.maxRetries,
        // Includes POST: creating a job carries an idempotency key, and other calls set `repeatable`.
        methods: [...methods],
        statusCodes: retriedStatuses,
        afterStatusCodes: retriedStatuses,
        retryOnTimeout: true,
        shouldRetry: unlessRetryAfterTooLong,
        delay: (attempt) => 500 * 2 ** (attempt - 1),
        backoffLimit: 8_000,
        // Spreads the retries of clients that were rejected at the same time, and never retries immediately.
        jitter: (delay) => delay * (0.5 + Math.random()),
      },
    };
  }

  /** Whether the key is the public test key, whose jobs return a fixed sample. */
  get isTestKey(): boolean {
    return this.#options.apiKey === publicTestKey;
  }

  /** Returns the URL of a path below /v1, or of a path that starts with a slash. */
  url(path: string): string {
    return `${this.#options.baseUrl}${path.startsWith('/') ? '' : '/v1/'}${path}`;
  }

  async call(method: Method, path: string, call: Call = {}): Promise<ApiResponse> {
    const { repeatable = true, signal, timeoutMs, headers: extra, ...content } = call;
    const { baseUrl, apiKey } = this.#options;
    const response = await this.#send(method, this.url(path), call, {
      ...content,
      headers: { ...extra, accept: 'application/json', authorization: `Bearer ${apiKey}` },
      ...(!repeatable && { retry: { ...this.#retry, shouldRetry: onlyAfterRateLimit } }),
    });
    const headers = {
      retryAfterMs: retryAfterMs(response.headers, Date.now()),
      estimate: readEstimate(response.headers),
      health: readEndpointHealth(response.headers),
    };
    if (response.status === 204) return { body: undefined, ...headers };
    try {
      return { body: await response.json(), ...headers };
    } catch (cause) {
      throw new ServerError(
        'invalid_response',
        `${baseUrl} responded with status ${response.status}, but the body is not JSON. Check that it is a gen3d server`,
        { status: response.status, requestId: requestId(response), cause },
      );
    }
  }

  /** Downloads a file. Sends no API key, because assets are public and may be on another host. */
  async fetchBytes(url: string, limits: RequestOptions): Promise<Uint8Array> {
    const response = await this.#send('get', url, limits, 'file');
    return new Uint8Array(await response.arrayBuffer());
  }

  /** Opens a stream of events. Resolves when the headers have arrived, and does not retry. */
  async openStream(url: string, lastEventId: string | undefined, signal: AbortSignal): Promise<Response> {
    const response = await this.#options.fetch(url, {
      headers: {
        accept: 'text/event-stream',
        authorization: `Bearer ${this.#options.apiKey}`,
        ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
      },
      signal,
    });
    if (!response.ok) throw await errorFrom(response, url, false);
    if (response.status === 204 || response.headers.get('content-type')?.startsWith('text/event-stream'))
      return response;
    throw new Gen3dError('invalid_response', `${url} did not respond with a stream of events`, {
      status: response.status,
      requestId: requestId(response),
    });
  }

  get #retry() {
    const { retry } = this.#ky;
    return typeof retry === 'object' ? retry : {};
  }

  #send(method: Method, url: string, limits: RequestOptions, content: Options | 'file'): Promise<Response> {
    const timeoutError = (timeoutMs: number) => new RequestTimeoutError({ method, url }, timeoutMs);
    const isFile = content === 'file';
    let hasHeaders = false;
    const fetch = withWholeBody(this.#options.fetch, (arrived) => {
      hasHeaders = arrived;
    });
    return withDeadline(limits, timeoutError, async (signal) => {
      try {
        return await abortable(ky(url, { ...this.#ky, ...(!isFile && content), fetch, method, signal }), signal);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof HTTPError) throw await errorFrom(error.response, url, isFile);
        if (error instanceof TimeoutError) throw timeoutError(this.#options.timeoutMs);
        throw connectionError(url, error, hasHeaders);
      }
    });
  }
}

/**
 * Makes a fetch that resolves only after the whole body has arrived. ky's timeout and retries end when fetch resolves,
 * which by default is when the headers arrive: they would not cover a connection that breaks in the middle of a body.
 *
 * @param onAttempt receives false when a request starts, and true when the headers of its response have arrived
 */
function withWholeBody(fetch: Fetch, onAttempt: (hasHeaders: boolean) => void): Fetch {
  return async (input, init) => {
    onAttempt(false);
    const response = await fetch(input, init);
    onAttempt(true);
    const { status, statusText, headers } = response;
    const bytes = await response.arrayBuffer();
    return new Response(bytes.byteLength === 0 ? null : bytes, { status, statusText, headers });
  };
}

type RetryVerdict = (failed: { error: Error }) => false | undefined;

// undefined leaves the decision to ky. With true, ky would ignore Retry-After.
const unlessRetryAfterTooLong: RetryVerdict = ({ error }) =>
  error instanceof HTTPError && (retryAfterMs(error.response.headers, Date.now()) ?? 0) > maxRetryAfterMs
    ? false
    : undefined;

const onlyAfterRateLimit: RetryVerdict = (failed) =>
  failed.error instanceof HTTPError && failed.error.response.status === 429 ? unlessRetryAfterTooLong(failed) : false;

/** Converts the failure of a request, unless it is one of this client's errors. */
export function connectionError(url: string, error: unknown, hasHeaders = false): Gen3dError {
  if (error instanceof Gen3dError) return error;
  const { origin } = new URL(url);
  const message = hasHeaders
    ? `The connection to ${origin} broke during its response: ${reason(error)}. Try again`
    : `Cannot reach ${origin}: ${reason(error)}`;
  return new ConnectionError('connection_failed', message, { cause: error });
}

/** Returns the innermost message: undici wraps the actual error in one or two others, such as "fetch failed". */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return reason(error.cause);
  if (error instanceof AggregateError && error.errors.length > 0) return reason(error.errors[0]);
  return error.message;
}
