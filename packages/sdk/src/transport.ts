import {
  type EndpointHealth,
  type JobEstimate,
  publicTestKey,
  readEndpointHealth,
  readEstimate,
} from '@gen3d/schema/rules';
import { abortable, type RequestOptions, withDeadline } from './deadline.js';
import { errorFrom, fileError, requestId, retryAfterMs } from './error-response.js';
import {
  ConnectionError,
  Gen3dError,
  RateLimitError,
  RedirectError,
  RequestTimeoutError,
  ServerError,
} from './errors.js';
import { connectionError } from './foreign-response.js';
import { chunksOf } from './response-bodies.js';
import { sleep } from './sleep.js';

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

// A call that would have to wait longer fails immediately; it is never retried before the time that the server asked for.
const maxRetryAfterMs = 60_000;
const firstPauseMs = 500;
/** After a 502, 503 or 504: a server behind a proxy needs some seconds to start. */
const firstProxyPauseMs = 2_000;
const maxPauseMs = 8_000;

// A server that does not respond at all is seldom starting. Behind a proxy, it responds with a 502.
const maxConnectionRetries = 3;

const mebibyte = 1024 ** 2;
// No server with this API sends a longer body. The API's models have at most 64 MiB.
const maxJsonBytes = 16 * mebibyte;
const maxFileBytes = 512 * mebibyte;

/** Sends the requests of all resources: adds the API key, retries, applies timeouts, and turns failures into errors. */
export class Transport {
  readonly #options: TransportOptions;

  constructor(options: TransportOptions) {
    this.#options = options;
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
    const { json, searchParams, headers: extra } = call;
    const { baseUrl, apiKey } = this.#options;
    const url = new URL(this.url(path));
    for (const [name, value] of Object.entries(searchParams ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const headersSent = { ...extra, accept: 'application/json', authorization: `Bearer ${apiKey}` };
    const response = await this.#send(method, url.href, call, {
      headers: json === undefined ? headersSent : { ...headersSent, 'content-type': 'application/json' },
      ...(json !== undefined && { body: JSON.stringify(json) }),
      // A followed redirect would lose the key, and the body of a POST.
      redirect: 'manual',
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
    const response = await this.#send('get', url, limits);
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
      redirect: 'manual',
      signal,
    });
    if (!response.ok) throw await errorFrom(await withWholeBody(response, url, maxJsonBytes), { url });
    if (response.status === 204 || response.headers.get('content-type')?.startsWith('text/event-stream'))
      return response;
    throw new Gen3dError('invalid_response', `${url} did not respond with a stream of events`, {
      status: response.status,
      requestId: requestId(response),
    });
  }

  /** @param content absent for a file, which may be on another kind of server */
  #send(method: Method, url: string, call: Call, content?: Content): Promise<Response> {
    const { maxRetries, onRetry } = this.#options;
    const timeoutError = (timeoutMs: number) => new RequestTimeoutError({ method, url }, timeoutMs);
    return withDeadline(call, timeoutError, async (signal) => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await this.#attempt(method, url, signal, content);
        } catch (error) {
          if (signal.aborted) throw signal.reason;
          const pauseMs = attempt <= maxRetries ? retryPauseMs(error, attempt, call.repeatable) : undefined;
          if (pauseMs === undefined) throw error;
          onRetry?.({ error: error as Gen3dError, pauseMs, attempt });
          await sleep(pauseMs, signal);
        }
      }
    });
  }

  /** Resolves with a response of status 2xx whose whole body has arrived. */
  #attempt(method: Method, url: string, signal: AbortSignal, content?: Content): Promise<Response> {
    const { fetch, timeoutMs } = this.#options;
    const timeoutError = () => new RequestTimeoutError({ method, url }, timeoutMs);
    return withDeadline({ signal, timeoutMs }, timeoutError, async (signal) => {
      let hasHeaders = false;
      try {
        const response = await abortable(fetch(url, { ...content, method: method.toUpperCase(), signal }), signal);
        hasHeaders = true;
        const complete = await abortable(withWholeBody(response, url, content ? maxJsonBytes : maxFileBytes), signal);
        if (complete.ok) return complete;
        throw content ? await errorFrom(complete, { url, bodyBytes: content.body?.length }) : fileError(complete, url);
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        throw connectionError(url, error, hasHeaders);
      }
    });
  }
}

type Content = Pick<RequestInit, 'headers' | 'redirect'> & { readonly body?: string };

/**
 * Reads the body now: a connection that breaks in the middle of it counts as a failed request, which can be repeated.
 *
 * @throws {Gen3dError} invalid_response, if the body is longer than `maxBytes` after decompression
 */
async function withWholeBody(response: Response, url: string, maxBytes: number): Promise<Response> {
  // Browsers hide a redirect: its status is 0, which `Response` does not accept.
  if (response.type === 'opaqueredirect') return response;
  const { status, statusText, headers } = response;
  const parts: BlobPart[] = [];
  let bytes = 0;
  for await (const part of response.body ? chunksOf(response.body) : []) {
    bytes += part.length;
    if (bytes > maxBytes) {
      const problem = `${url} responded with more than ${maxBytes / mebibyte} MiB. Check that it is the URL of a gen3d server`;
      throw new Gen3dError('invalid_response', problem, { status, requestId: requestId(response) });
    }
    parts.push(part as Uint8Array<ArrayBuffer>);
  }
  return new Response(bytes === 0 ? null : new Blob(parts), { status, statusText, headers });
}

/** Returns the pause before a failed request is repeated, in milliseconds. Undefined if it is not repeated. */
function retryPauseMs(error: unknown, attempt: number, isRepeatable = true): number | undefined {
  const isRetried =
    error instanceof RateLimitError ||
    (isRepeatable &&
      // All 5xx, because proxies add their own. A response with status 200 that is not one of the API is not repeated.
      ((error instanceof ServerError && (error.status ?? 0) >= 500) ||
        (error instanceof ConnectionError && !(error instanceof RedirectError) && attempt <= maxConnectionRetries)));
  if (!isRetried) return undefined;
  if (error.retryAfterMs !== undefined) return error.retryAfterMs <= maxRetryAfterMs ? error.retryAfterMs : undefined;
  const isBehindProxy = [502, 503, 504].includes(error.status ?? 0);
  const pauseMs = (isBehindProxy ? firstProxyPauseMs : firstPauseMs) * 2 ** (attempt - 1);
  // Spreads the retries of clients that were rejected at the same time, and never retries immediately.
  return Math.min(maxPauseMs, pauseMs) * (0.5 + Math.random());
}
