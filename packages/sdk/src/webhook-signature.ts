import type { WebhookEvent } from '@gen3d/schema';
import { signatureHeader, timestampHeader } from '@gen3d/schema/rules';
import { Gen3dError } from './errors.js';
import { isRecord } from './response-bodies.js';

/** The raw body of a delivery: the bytes as they came, or their text. Never an object that a parser made of them. */
export type WebhookPayload = string | Uint8Array | ArrayBuffer;

export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyWebhookOptions {
  readonly payload: WebhookPayload;
  readonly headers: WebhookHeaders;
  /**
   * The endpoint's secret; a list of them while one is being replaced: a delivery that fits any of them is taken.
   *
   * `webhookEndpoint.rotate()` makes the new secret and cuts the old one off at once, so what is retried from then on is
   * signed with the new one. To miss nothing: rotate, add the answer's secret to this list beside the old one, and drop
   * the old one when what was on its way has arrived, a minute later. A delivery refused in between is retried and fits then.
   */
  readonly secret: string | readonly string[];
  /** How far the delivery's timestamp may be from now. Default 300; `Infinity` switches the check off. */
  readonly toleranceSeconds?: number | undefined;
  /** Milliseconds since 1970. Default: the clock. */
  readonly now?: number | undefined;
}

/** The delivery must not be believed; `message` says what is wrong, and with whose configuration. */
export class WebhookVerificationError extends Gen3dError {
  override readonly name = 'WebhookVerificationError';

  constructor(message: string, cause?: unknown) {
    super('webhook_unverified', message, { cause });
  }
}

/**
 * Checks a delivery's signature and age, and gives its event.
 *
 * @throws {WebhookVerificationError} if a header is missing, no secret fits, the delivery is too old, or the body is no event
 * @throws {TypeError} if no secret is given
 * @see API.md section 6.3: HMAC-SHA256 over `<timestamp>.<raw_body>`
 */
export async function verifyWebhook(options: VerifyWebhookOptions): Promise<WebhookEvent> {
  const { headers, secret, toleranceSeconds = 300, now = Date.now() } = options;
  const secrets = secretsOf(secret);
  const body = rawBytes(options.payload);
  const timestamp = header(headers, timestampHeader);
  const signature = signatureBytes(header(headers, signatureHeader));
  const signed = signedBytes(timestamp, body);

  let verified = false;
  // Every secret is tried: how long it takes must not tell which one fitted.
  for (const candidate of secrets) {
    // WebCrypto compares in constant time.
    if (await crypto.subtle.verify('HMAC', await key(candidate, 'verify'), signature, signed)) verified = true;
  }
  if (!verified) {
    throw new WebhookVerificationError(
      'The signature does not fit. Either the secret is another one (was it rotated?), or the body is not the one that was sent: it must be verified before any parser or middleware touches it',
    );
  }
  const ageMs = Math.abs(now - Date.parse(timestamp));
  // Written so that a timestamp that is no date (NaN) is refused too.
  if (!(ageMs <= toleranceSeconds * 1000)) {
    throw new WebhookVerificationError(
      `The delivery was signed at ${timestamp}, more than ${toleranceSeconds} s from now: a replay, or a clock that is wrong`,
    );
  }
  return event(body);
}

/**
 * The headers that gen3d would send with this body, to test one's own handler with.
 *
 * @returns `x-generate-timestamp` and `x-generate-signature`
 */
export async function signWebhook(options: {
  readonly payload: WebhookPayload;
  readonly secret: string;
  /** Default: now. */
  readonly timestamp?: Date | undefined;
}): Promise<Record<typeof timestampHeader | typeof signatureHeader, string>> {
  const timestamp = (options.timestamp ?? new Date()).toISOString();
  const [secret] = secretsOf(options.secret);
  const signed = signedBytes(timestamp, rawBytes(options.payload));
  const mac = new Uint8Array(await crypto.subtle.sign('HMAC', await key(secret, 'sign'), signed));
  const hex = Array.from(mac, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return { [timestampHeader]: timestamp, [signatureHeader]: `sha256=${hex}` };
}

const parsedBody =
  'The body was parsed before it was verified, and its original bytes are gone. Pass the raw body: in Express put express.raw({ type: "application/json" }) on this route, before express.json()';

// `unknown`: callers without types pass what their framework gave them, and that is the mistake made most.
function rawBytes(payload: unknown): Uint8Array<ArrayBuffer> {
  // What `String(body)` and template literals make of a parsed one.
  if (payload === '[object Object]') throw new WebhookVerificationError(parsedBody);
  if (typeof payload === 'string') return new TextEncoder().encode(payload);
  if (payload instanceof ArrayBuffer) return new Uint8Array(payload);
  if (payload instanceof Uint8Array) return new Uint8Array(payload);
  throw new WebhookVerificationError(
    payload === undefined || payload === null ? 'There is no body: pass the raw request body as payload' : parsedBody,
  );
}

function header(headers: WebhookHeaders, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : lookUp(headers, name);
  if (!value) throw new WebhookVerificationError(`The header ${name} is missing: this is no delivery of gen3d`);
  return value;
}

function lookUp(headers: Exclude<WebhookHeaders, Headers>, name: string): string | undefined {
  const value = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof value === 'string' ? value : value?.[0];
}

function signatureBytes(value: string): Uint8Array<ArrayBuffer> {
  const [, hex] = /^sha256=([0-9a-f]{64})$/i.exec(value) ?? [];
  if (!hex) throw new WebhookVerificationError(`The header ${signatureHeader} is not sha256= and 64 hex digits`);
  return Uint8Array.from({ length: 32 }, (_, index) => Number.parseInt(hex.slice(2 * index, 2 * index + 2), 16));
}

function signedBytes(timestamp: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const prefix = new TextEncoder().encode(`${timestamp}.`);
  const bytes = new Uint8Array(prefix.length + body.length);
  bytes.set(prefix);
  bytes.set(body, prefix.length);
  return bytes;
}

// `unknown`: process.env gives undefined, whatever a caller's types say.
function secretsOf(secret: unknown): [string, ...string[]] {
  const given: readonly unknown[] = Array.isArray(secret) ? secret : [secret];
  const secrets = given.filter((one): one is string => typeof one === 'string' && one !== '');
  const [first, ...others] = secrets;
  // An unset variable would otherwise make every delivery fail as if it were forged.
  if (first === undefined || secrets.length < given.length) {
    throw new TypeError('The webhook secret is missing or empty: is the environment variable that holds it unset?');
  }
  return [first, ...others];
}

const key = (secret: string, usage: 'sign' | 'verify') =>
  crypto.subtle.importKey('raw', new TextEncoder().encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, [usage]);

function event(body: Uint8Array): WebhookEvent {
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder().decode(body));
  } catch (cause) {
    throw new WebhookVerificationError('The body is signed, but is no JSON', cause);
  }
  if (isEvent(parsed)) return parsed;
  throw new WebhookVerificationError('The body is signed, but is no event that this version knows');
}

const isEvent = (value: unknown): value is WebhookEvent =>
  isRecord(value) &&
  typeof value.event_id === 'string' &&
  (value.event === 'ping' || (value.event === 'task.updated' && typeof value.task_id === 'string'));
