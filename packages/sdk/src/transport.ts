import ky, { type BeforeErrorHook, type KyInstance, type Options, TimeoutError } from 'ky';
import { connectionError } from './connection-error.js';
import { maxTimerMs, type RequestOptions, withDeadline } from './deadline.js';
import { errorFrom, fileError, invalidResponse } from './error-response.js';
import {
  ConnectionError,
  Gen3dError,
  RateLimitError,
  RedirectError,
  RequestTimeoutError,
  ServerError,
} from './errors.js';

// Sends requests with ky, so that callers need no retry loop. A request is retried after a 429, a 5xx or a broken
// connection, unless repeating it could do something twice. Creating a job is safe, because all attempts carry the same
// idempotency key. The server's Retry-After is obeyed up to a minute; beyond it, the call fails and says when to retry.

export type Fetch = typeof globalThis.fetch;

export interface TransportOptions {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly fetch: Fetch;
  readonly timeoutMs: number;
  readonly maxRetries: number;
  readonly onRetry?: ((retry: Retry) => void) | undefined;
}

/** A failed request that is repeated after a pause. */
export interface Retry {
  readonly error: Gen3dError;
  /** How long the pause before the next request is. */
  readonly pauseMs: number;
  /** How many requests of the call have failed so far. */
  readonly attempt: number;
}

export interface RouteRequestOptions extends RequestOptions {
  readonly json?: unknown;
  readonly searchParams?: Record<string, string | number | undefined>;
  /** Whether to retry after every failure, because repeating it is harmless. Default: true, except for POST. */
  readonly repeatable?: boolean;
}

interface Call extends RouteRequestOptions {
  readonly headers?: Record<string, string>;
}

export type Method = 'get' | 'post' | 'put' | 'delete';

// A call that would have to wait longer fails at once: no request comes earlier than the server asked for.
const maxRetryAfterMs = 60_000;
const firstPauseMs = 500;
/** After a 502, 503 or 504: a server behind a proxy needs some seconds to start. */
const firstProxyPauseMs = 2_000;
const maxPauseMs = 8_000;

/** Accepts any body, or none. */
export const isAnything = (_body: unknown): _body is unknown => true;

const eventStream = 'text/event-stream';

/** Sends the requests of all resources: adds the API key, retries, applies timeouts, and turns failures into errors. */
export class Transport {
  readonly #options: TransportOptions;
  readonly #ky: KyInstance;
  /** Options of requests to the API. Downloads lack them: assets are public and may be on another host. */
  readonly #asApi: Options;

  constructor(options: TransportOptions) {
    const beforeError: BeforeErrorHook = async ({ request: { url, headers }, response }) => {
      throw headers.has('authorization') ? await errorFrom(response, url) : fileError(response, url);
    };
    this.#options = options;
    this.#ky = ky.create({
      timeout: Math.min(options.timeoutMs, maxTimerMs),
      fetch: sendWith(options.fetch),
      hooks: { beforeError: [beforeError] },
    });
    // A followed redirect would lose the key, and the body of a POST.
    const headers = { accept: 'application/json', authorization: `Bearer ${options.apiKey}` };
    this.#asApi = { headers, redirect: 'manual' };
  }

  /** Returns the URL of a path below /v1, or of a path that starts with a slash. */
  url(path: string): string {
    return `${this.#options.baseUrl}${path.startsWith('/') ? '' : '/v1/'}${path}`;
  }

  /**
   * Calls a route of the API. Returns the parsed body, which is undefined for a 204, and the headers of the response.
   *
   * @throws {ServerError} invalid_response, if the body is not JSON or not as expected
   */
  async call<T>(
    method: Method,
    path: string,
    isExpected: (body: unknown) => body is T,
    { json, searchParams = {}, headers = {}, ...call }: Call = {},
  ): Promise<{ body: T; headers: Headers }> {
    const url = this.url(path);
    const content = { ...this.#asApi, json, searchParams, headers: { ...headers, ...this.#asApi.headers } };
    const response = await this.#send(method, url, call, content);
    const invalid = (cause?: unknown): never => {
      throw invalidResponse(response, url, cause);
    };
    const body: unknown = response.status === 204 ? undefined : await response.json().catch(invalid);
    return isExpected(body) ? { body, headers: response.headers } : invalid();
  }

  /** Downloads a file. */
  async fetchBytes(url: string, limits: RequestOptions): Promise<Uint8Array> {
    const response = await this.#send('get', url, limits);
    return new Uint8Array(await response.arrayBuffer());
  }

  /** Opens a stream of events. Resolves when the headers have arrived, and does not retry. */
  async openStream(url: string, lastEventId: string | undefined, signal: AbortSignal): Promise<Response> {
    const position = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
    const headers = { ...this.#asApi.headers, ...position, accept: eventStream };
    const response = await this.#ky(url, { ...this.#asApi, headers, signal, timeout: false, retry: 0 });
    if (response.status === 204 || response.headers.get('content-type')?.startsWith(eventStream)) return response;
    throw new Gen3dError('invalid_response', `${url} did not respond with a stream of events`, {
      status: response.status,
    });
  }

  /** Resolves with a response of status 2xx whose whole body has arrived. */
  #send(method: Method, url: string, call: Call, content: Options = {}): Promise<Response> {
    const { maxRetries, onRetry, timeoutMs } = this.#options;
    const { repeatable = method !== 'post', ...limits } = call;
    const timeoutError = (timeoutMs: number) => new RequestTimeoutError({ method, url }, timeoutMs);
    const failure = (error: unknown) =>
      error instanceof TimeoutError ? timeoutError(timeoutMs) : connectionError(url, error);
    return withDeadline(limits, timeoutError, async (signal) => {
      let pauseMs: number | undefined;
      const retry = {
        limit: maxRetries,
        methods: [method],
        delay: () => pauseMs ?? 0,
        shouldRetry({ error: thrown, retryCount: attempt }: { error: Error; retryCount: number }) {
          const error = failure(thrown);
          pauseMs = signal.aborted ? undefined : retryPauseMs(error, attempt, repeatable);
          if (pauseMs === undefined) return false;
          onRetry?.({ error, pauseMs, attempt });
          return true;
        },
      };
      try {
        return await this.#ky(url, { ...content, method, signal, retry });
      } catch (error) {
        throw failure(error);
      }
    });
  }
}

/**
 * Adapts a `fetch` to ky, so that a custom one gets a URL and plain options. Reads the body of the response, too: a
 * connection that breaks in the middle of it is a failed attempt, and the time limit of an attempt includes it.
 */
function sendWith(fetch: Fetch): Fetch {
  return async (input) => {
    const request = input as Request; // which is what ky passes
    const { url, method, redirect, signal } = request;
    const headers = Object.fromEntries(request.headers);
    const content = await request.text();
    let response: Response | undefined;
    try {
      response = await fetch(url, { method, redirect, signal, headers, ...(content && { body: content }) });
      if (!response.body || (response.ok && headers.accept === eventStream)) return response;
      return new Response(await response.arrayBuffer(), response);
    } catch (error) {
      throw connectionError(url, error, response !== undefined);
    }
  };
}

/** Returns the pause before a failed request is repeated, in milliseconds. Undefined if it is not repeated. */
function retryPauseMs(error: Gen3dError, attempt: number, isRepeatable: boolean): number | undefined {
  const isRetried =
    error instanceof RateLimitError ||
    (isRepeatable &&
      // All 5xx, because proxies add their own. A response with status 200 that is not one of the API is not repeated.
      ((error instanceof ServerError && (error.status ?? 0) >= 500) ||
        (error instanceof ConnectionError && !(error instanceof RedirectError))));
  if (!isRetried) return undefined;
  if (error.retryAfterMs !== undefined) return error.retryAfterMs <= maxRetryAfterMs ? error.retryAfterMs : undefined;
  const isBehindProxy = [502, 503, 504].includes(error.status ?? 0);
  const pauseMs = (isBehindProxy ? firstProxyPauseMs : firstPauseMs) * 2 ** (attempt - 1);
  // Spreads the retries of clients that were rejected at the same time, and never retries immediately.
  return Math.min(maxPauseMs, pauseMs) * (0.5 + Math.random());
}
