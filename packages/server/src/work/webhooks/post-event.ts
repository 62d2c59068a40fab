import { createHmac } from 'node:crypto';
import { Readable } from 'node:stream';
import { limits, signatureHeader, timestampHeader, type WebhookEvent } from '@gen3d/schema';
import { certificateProblem } from '@gen3d/schema/rules';
import { type Dispatcher, request } from 'undici';
import { isoTime } from '../../base/time.js';
import type { EventRow } from '../../data/db/tables.js';
import { toTaskUpdated } from '../../data/jobs/task.js';
import type { Attempt } from '../../data/webhooks/deliveries.js';
import type { Endpoint } from '../../data/webhooks/endpoints.js';

const maxPrefixBytes = 2_048;
/** Time limit for the response body, from its headers on. A slow body must not hold a delivery slot for longer. */
const prefixTimeoutMs = 1_000;

/** Replaces the system's messages for the failures that owners of a receiver see most. */
const connectionFailures: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused: no server is listening there',
  ECONNRESET: 'the connection was closed before a response arrived',
  UND_ERR_SOCKET: 'the connection was closed before a response arrived',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the host name could not be looked up',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the host cannot be reached',
  ETIMEDOUT: 'the connection timed out',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
};

/**
 * Signs a delivery (docs/contract.md section 6.3): `sha256=` and the hexadecimal HMAC-SHA256, keyed with the account's
 * secret, over the timestamp header, a dot and the bytes of the body.
 */
export function sign(secret: string, timestamp: string, body: Uint8Array): string {
  return `sha256=${createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')}`;
}

/** Posts one signed delivery. Any 2xx status before the timeout is a success. An aborted `signal` interrupts it. */
export async function postEvent(
  endpoint: Endpoint,
  content: string,
  dispatcher: Dispatcher,
  { signal, timeoutMs = limits.webhookTimeoutMs }: { signal?: AbortSignal; timeoutMs?: number } = {},
): Promise<Attempt> {
  const body = Buffer.from(content);
  const startedAt = Date.now();
  const start = performance.now();
  const timestamp = new Date(startedAt).toISOString();
  const headers = {
    'content-type': 'application/json',
    'content-length': String(body.length),
    'user-agent': 'gen3d-webhooks',
    [timestampHeader]: timestamp,
    [signatureHeader]: sign(endpoint.secret, timestamp, body),
  };
  const sent = { url: endpoint.url, request_headers: JSON.stringify(headers), started_at: startedAt };
  const timeout = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  // Undici reads the body once the connection is established, so a slow handshake does not shorten the receiver's time.
  function* bodyOnceConnected(): Generator<Buffer> {
    timer = setTimeout(() => timeout.abort(), timeoutMs);
    yield body;
  }
  try {
    const response = await request(endpoint.url, {
      dispatcher,
      method: 'POST',
      headers,
      body: Readable.from(bodyOnceConnected()),
      signal: signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal,
      // A new connection: the receiver may close a kept one during the request, and reuse skips the address check.
      reset: true,
    });
    clearTimeout(timer);
    return {
      ...sent,
      took_ms: Math.round(performance.now() - start),
      response_status: response.statusCode,
      // For display only. The status alone decides the outcome.
      response_body: await readPrefix(response.body),
      failure: response.statusCode >= 200 && response.statusCode < 300 ? null : `HTTP ${response.statusCode}`,
    };
  } catch (error) {
    const failure = timeout.signal.aborted ? `no response within ${timeoutMs / 1_000} s` : connectionFailure(error);
    const took_ms = Math.round(performance.now() - start);
    return { ...sent, took_ms, response_status: null, response_body: null, failure };
  } finally {
    clearTimeout(timer);
  }
}

/** Says why a request got no response, for the owner of the receiver. */
function connectionFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return connectionFailures[code] ?? certificateProblem(code) ?? (error.message || code || error.name);
}

/**
 * Reads the start of a body as text: at most 2 KiB, and what arrives within a second. An ellipsis replaces the rest.
 * Destroys the stream. An interrupted body is not an error.
 */
async function readPrefix(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  let complete = false;
  // An error after the last read would be uncaught and end the process.
  body.on('error', () => {});
  const timer = setTimeout(() => body.destroy(), prefixTimeoutMs);
  try {
    for await (const chunk of body) {
      chunks.push(chunk as Buffer);
      size += (chunk as Buffer).length;
      if (size > maxPrefixBytes) break;
    }
    complete = size <= maxPrefixBytes;
  } catch {
    // The chunks that arrived are still shown.
  } finally {
    clearTimeout(timer);
    body.destroy();
  }
  // `stream` drops a character that is cut in half at the end. PostgreSQL's text type does not allow NUL.
  const text = new TextDecoder().decode(Buffer.concat(chunks).subarray(0, maxPrefixBytes), { stream: !complete });
  return text.replaceAll('\0', '\uFFFD') + (complete ? '' : '…');
}

/** Builds the body of a delivery (docs/contract.md sections 6.1 and 6.2). It is the same for every retry. */
export const eventBody = (row: EventRow, assetsUrl: string): string => JSON.stringify(toEvent(row, assetsUrl));

function toEvent(row: EventRow, assetsUrl: string): WebhookEvent {
  const { event, event_id, account_id, job_id, status, progress, created_at } = row;
  if (event === 'ping') return { event, event_id, user_id: account_id, timestamp: isoTime(created_at) };
  if (job_id === null || status === null || progress === null) throw new Error(`event ${event_id} has no job`);
  return toTaskUpdated({ ...row, job_id, status, progress }, assetsUrl);
}
