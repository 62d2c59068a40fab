import type { WebhookEvent } from '@gen3d/schema';
import { having, signatureHeader, timestampHeader, trimmed } from '@gen3d/schema/rules';
import { Gen3dError } from './errors.js';
import { bytesIn } from './realms.js';

// Verifies that a delivery comes from the server: HMAC-SHA256 over the timestamp header, a dot and the raw body,
// compared in constant time by WebCrypto, which every runtime has. The raw bytes are required, because a parsed and
// serialized body has another signature. The age is checked too, because the sender does not limit it.

/** The raw body of a delivery, as bytes or text. A parsed object does not work: the signature covers the bytes. */
export type WebhookPayload = string | ArrayBufferView | ArrayBuffer;

/** The headers of a request: as an object, `Headers`, a `Map` or a list of pairs. */
export type WebhookHeaders =
  | Headers
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | Iterable<readonly [name: string, value: string]>;

export interface VerifyWebhookOptions {
  readonly payload: WebhookPayload;
  readonly headers: WebhookHeaders;
  /**
   * The secret of the endpoint, or a list of secrets during a rotation. The signature must match one of them. White
   * space and quotes around a secret are ignored, because files and variables often add them.
   *
   * `webhookEndpoint.rotate()` returns the new secret and invalidates the old one immediately: later deliveries and
   * retries are signed with the new secret. To lose no event, rotate, add the new secret to this list, and remove the
   * old one a minute later, when deliveries under way have arrived. A delivery rejected in between is retried.
   */
  readonly secret: string | readonly string[];
  /** How many seconds the delivery's timestamp may differ from `now`. Default 300. `Infinity` disables the check. */
  readonly toleranceSeconds?: number | undefined;
  /** Milliseconds since 1970. Default: the current time. */
  readonly now?: number | undefined;
}

/** The delivery is not authentic. `message` says why. */
export class WebhookVerificationError extends Gen3dError {
  override readonly name = 'WebhookVerificationError';

  constructor(message: string) {
    super('webhook_unverified', message);
  }
}

/**
 * Verifies the signature and the age of a delivery, and returns its event.
 *
 * @throws {WebhookVerificationError} if a header is missing, no secret matches, the delivery is too old, or the body is
 *   not an event
 * @throws {TypeError} if the secret or the headers are missing, or the payload is not text or bytes
 * @see docs/contract.md section 6.3: HMAC-SHA256 over `<timestamp>.<raw_body>`
 * @example
 * const event = await verifyWebhook({ payload: await request.text(), headers: request.headers, secret });
 * if (event.event === 'task.updated' && event.status === 'SUCCEEDED') console.log(event.model_urls?.glb);
 */
export async function verifyWebhook(options: VerifyWebhookOptions): Promise<WebhookEvent> {
  const { secret, toleranceSeconds = 300, now = Date.now() } = options;
  const secrets = secretsOf(secret);
  const headers = entriesOf(options.headers);
  const body = bytesOf(options.payload);
  const timestamp = header(headers, timestampHeader);
  const signature = signatureBytes(header(headers, signatureHeader));
  const signed = signedBytes(timestamp, body);

  let verified = false;
  // Tries all secrets: the time must not reveal which one matched.
  for (const candidate of secrets) {
    // WebCrypto compares in constant time.
    if (await crypto.subtle.verify('HMAC', await key(candidate, 'verify'), signature, signed)) verified = true;
  }
  if (!verified) {
    throw new WebhookVerificationError(
      `The signature does not match. Check that the secret is current. ${needsRawBody}`,
    );
  }
  const ageMs = Math.abs(now - Date.parse(timestamp));
  // Also rejects an invalid date (NaN).
  if (!(ageMs <= toleranceSeconds * 1000)) {
    throw new WebhookVerificationError(
      `The delivery was signed at ${timestamp}, more than ${toleranceSeconds} s from now. It is a replay, or a clock is wrong`,
    );
  }
  return event(body);
}

/**
 * Signs a body as gen3d does, for testing a webhook handler.
 *
 * @returns `x-generate-timestamp` and `x-generate-signature`
 * @example
 * const body = JSON.stringify({ event: 'ping', event_id: '01J…', user_id: '01J…', timestamp: '2026-01-01T00:00:00Z' });
 * const headers = await signWebhook({ payload: body, secret });
 * await fetch('http://127.0.0.1:3000/gen3d', { method: 'POST', body, headers });
 */
export async function signWebhook(options: {
  readonly payload: WebhookPayload;
  readonly secret: string;
  /** The time of the delivery. Default: now. */
  readonly timestamp?: Date | undefined;
}): Promise<Record<typeof timestampHeader | typeof signatureHeader, string>> {
  const timestamp = (options.timestamp ?? new Date()).toISOString();
  const [secret] = secretsOf(options.secret);
  const signed = signedBytes(timestamp, bytesOf(options.payload));
  const mac = new Uint8Array(await crypto.subtle.sign('HMAC', await key(secret, 'sign'), signed));
  const hex = Array.from(mac, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return { [timestampHeader]: timestamp, [signatureHeader]: `sha256=${hex}` };
}

export const needsRawBody =
  'Verification needs the raw body as text or bytes, before a parser reads it, and decoded if a gateway passes base64. ' +
  'In Express, use express.raw({ type: "application/json" }) on this route, before express.json()';

/** Returns the bytes of a body. The parameter is `unknown` because JavaScript callers often pass a parsed body. */
function bytesOf(payload: unknown): Uint8Array<ArrayBuffer> {
  const bytes = typeof payload === 'string' ? new TextEncoder().encode(payload) : bytesIn(payload);
  if (bytes) return bytes;
  throw new TypeError(needsRawBody);
}

function header(headers: ReturnType<typeof entriesOf>, name: string): string {
  const found = headers.find(([key]) => String(key).toLowerCase() === name)?.[1];
  const value = Array.isArray(found) ? found[0] : found;
  if (typeof value === 'string' && value !== '') return value;
  throw new WebhookVerificationError(`The header ${name} is missing. This is not a delivery from gen3d`);
}

// `unknown`, because JavaScript callers may pass anything.
function entriesOf(headers: unknown): (readonly unknown[])[] {
  if (typeof headers !== 'object' || headers === null) {
    throw new TypeError('The headers are missing. Pass those of the request, such as request.headers');
  }
  return Symbol.iterator in headers ? [...(headers as Iterable<unknown[]>)] : Object.entries(headers);
}

/** Returns the bytes of a signature, or none, which match no body, if it is not of the form `sha256=<hex digits>`. */
function signatureBytes(value: string): Uint8Array<ArrayBuffer> {
  const [, hex = ''] = /^sha256=([0-9a-f]{64})$/i.exec(value) ?? [];
  return Uint8Array.from(hex.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
}

function signedBytes(timestamp: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const prefix = new TextEncoder().encode(`${timestamp}.`);
  const bytes = new Uint8Array(prefix.length + body.length);
  bytes.set(prefix);
  bytes.set(body, prefix.length);
  return bytes;
}

/**
 * Returns the secrets as a list. The parameter is `unknown` because JavaScript callers may pass an unset environment
 * variable.
 *
 * @throws {TypeError} if a secret is missing, empty or not text
 */
export function secretsOf(secret: unknown): [string, ...string[]] {
  const list: readonly unknown[] = Array.isArray(secret) ? secret : [secret];
  const secrets = list.map((item) => (typeof item === 'string' ? trimmed(item) : ''));
  const [first, ...others] = secrets;
  // Otherwise, every delivery would look forged.
  if (!first || secrets.includes('')) {
    throw new TypeError('The webhook secret is missing, empty or not text. Check that its environment variable is set');
  }
  return [first, ...others];
}

const key = (secret: string, usage: 'sign' | 'verify') =>
  crypto.subtle.importKey('raw', new TextEncoder().encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, [usage]);

function event(body: Uint8Array): WebhookEvent {
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder().decode(body));
  } catch {}
  if (isEvent(parsed)) return parsed;
  throw new WebhookVerificationError('The body is signed, but is not an event known to this version');
}

const hasEventId = having<WebhookEvent>({ event_id: 'string' });
const isEvent = (value: unknown): value is WebhookEvent =>
  hasEventId(value) &&
  (value.event === 'ping' || (value.event === 'task.updated' && typeof value.task_id === 'string'));
