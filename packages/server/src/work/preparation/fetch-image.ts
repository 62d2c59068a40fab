import { limits } from '@gen3d/schema';
import { certificateProblem } from '@gen3d/schema/rules';
import { type Dispatcher, request } from 'undici';
import { readBody } from '../../base/net/read-body.js';
import { JobFailure } from '../../data/jobs/failures.js';

const maxRedirects = 3;
const timeoutMs = 30_000;
const redirects = new Set([301, 302, 303, 307, 308]);

const mib = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MiB`;
const fetchFailed = (message: string, cause?: unknown) => new JobFailure('image_fetch_failed', message, { cause });
const refusedAdvice = '. Its host blocks bots, or the URL has expired. Download the image and send the file';
const tooLarge = () =>
  new JobFailure('image_too_large', `The image at the URL is larger than ${mib(limits.remoteImageBytes)}`);

/** Describes a transport error for the caller, without details of this server's network. */
function transportProblem(error: unknown): string {
  const { code } = error as { code?: unknown };
  switch (code) {
    case 'GEN3D_FORBIDDEN_ADDRESS':
      return 'its host has no public address. The operator can allow such hosts with --allow-private-network';
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'its host name does not resolve';
    case 'ECONNREFUSED':
      return 'its host refused the connection';
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'ETIMEDOUT':
      return 'its host did not respond in time';
    default:
      if (/SSL|TLS|EPROTO/.test(String(code))) return 'its host does not use https on this port';
      return certificateProblem(code) ?? 'the connection was interrupted';
  }
}

export interface FetchOptions {
  /** A guarded agent: it checks every address before it connects, also after a redirect. */
  dispatcher: Dispatcher;
  signal: AbortSignal;
  /** Called with the length of the body if the host announces it. */
  onLength: (bytes: number) => void;
  /** Called with the length of each part of the body. */
  onBytes: (bytes: number) => void;
}

/**
 * Fetches a remote image over http(s), with at most 3 redirects, 30 s and 25 MiB. Counts the bytes as they arrive.
 * @throws {JobFailure} image_fetch_failed or image_too_large; the signal's reason when `signal` aborts
 */
export async function fetchImage(url: string, options: FetchOptions): Promise<Uint8Array> {
  const { signal } = options;
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    return await follow(new URL(url), { ...options, signal: AbortSignal.any([signal, timeout]) });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof JobFailure) throw error;
    if (timeout.aborted) throw fetchFailed(`Fetching the image URL took longer than ${timeoutMs / 1_000} s`, error);
    throw fetchFailed(`The image URL cannot be fetched: ${transportProblem(error)}`, error);
  }
}

async function follow(start: URL, { dispatcher, signal, onLength, onBytes }: FetchOptions): Promise<Uint8Array> {
  let url = start;
  for (let hop = 0; hop <= maxRedirects; hop++) {
    if (url.protocol !== 'http:' && url.protocol !== 'https:') {
      throw fetchFailed(`The image URL redirects to the scheme ${url.protocol} but must stay http(s)`);
    }
    const { statusCode, headers, body } = await request(url, {
      dispatcher,
      signal,
      headers: { accept: 'image/*', 'accept-encoding': 'identity', 'user-agent': 'gen3d' },
    });
    // Destroying the body emits an error. The cause is already reported.
    body.on('error', () => {});
    const { location } = headers;
    if (redirects.has(statusCode) && typeof location === 'string') {
      body.destroy();
      if (!URL.canParse(location, url.href)) throw fetchFailed('The image URL redirects to an invalid URL');
      url = new URL(location, url);
      continue;
    }
    if (statusCode !== 200) {
      body.destroy();
      const advice = [401, 403].includes(statusCode) ? refusedAdvice : '';
      const source = hop === 0 ? 'The image URL' : `The image URL redirects to ${url.host}, which`;
      throw fetchFailed(`${source} returned HTTP ${statusCode}${advice}`);
    }
    const announced = Number(headers['content-length']);
    return readBody(body, { announced, maxBytes: limits.remoteImageBytes, tooLarge, onLength, onBytes });
  }
  throw fetchFailed(`The image URL redirects more than ${maxRedirects} times`);
}
