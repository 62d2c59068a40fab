import type { WebhookEvent } from '@gen3d/schema';
import { chunksOf, readAll } from './byte-stream.js';
import { bytesIn } from './realms.js';
import {
  needsRawBody,
  secretsOf,
  type VerifyWebhookOptions,
  verifyWebhook,
  type WebhookHeaders,
  type WebhookPayload,
  WebhookVerificationError,
} from './webhook-signature.js';

export interface WebhookHandlerOptions extends Pick<VerifyWebhookOptions, 'secret' | 'toleranceSeconds'> {
  /**
   * Called with every verified event. Events are delivered at least once: remember each `event_id`, or make the handler
   * idempotent. The sender times out after 10 s. If the handler throws, the response is a 500, and the sender retries.
   */
  readonly onEvent: (event: WebhookEvent) => void | Promise<void>;
}

/**
 * Creates a handler for servers with the Fetch API: Hono, Next.js, Bun, Deno, Cloudflare Workers.
 *
 * @throws {TypeError} immediately, if the secret or `onEvent` is missing
 * @example
 * export const POST = webhookHandler({ secret, onEvent: (event) => console.log(event.event) }); // Next.js
 */
export function webhookHandler(options: WebhookHandlerOptions): (request: Request) => Promise<Response> {
  const receive = receiver(options);
  return async (request) => {
    // A mistake in the app, not of the sender: throwing causes a 500, an entry in the app's log, and a retry.
    if (request.bodyUsed) throw new TypeError(needsRawBody);
    const problem = await receive(request.headers, () => (request.body ? read(chunksOf(request.body)) : ''));
    return new Response(problem, { status: problem === undefined ? 204 : 400 });
  };
}

/** Declares what the handler uses of Express's request. Node's `http.IncomingMessage` has it, too. */
export interface WebhookRequest extends AsyncIterable<Uint8Array> {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body?: unknown;
  /** The raw bytes on platforms that parse the body but keep them, such as Google Cloud Functions and Firebase. */
  readonly rawBody?: unknown;
}

export interface WebhookResponse {
  statusCode: number;
  end(text?: string): unknown;
}

/**
 * Creates a handler for Express. It reads the body, or uses the one from `express.raw`, `express.text` or the platform
 * (`rawBody`).
 *
 * If a JSON parser has consumed the body, the handler passes an error to `next`: the mistake is in the app.
 *
 * @throws {TypeError} immediately, if the secret or `onEvent` is missing
 * @example
 * const handler = expressWebhookHandler({ secret, onEvent: (event) => console.log(event.event) });
 * app.post('/gen3d', handler); // above app.use(express.json())
 */
export function expressWebhookHandler(options: WebhookHandlerOptions) {
  const receive = receiver(options);
  return async (request: WebhookRequest, response: WebhookResponse, next: (error: unknown) => void): Promise<void> => {
    // The body may be anything. verifyWebhook checks its type.
    const body = (bytesIn(request.rawBody) ?? request.body) as WebhookPayload | undefined;
    try {
      const problem = await receive(request.headers, () => body ?? read(request));
      response.statusCode = problem === undefined ? 204 : 400;
      response.end(problem);
    } catch (error) {
      next(error);
    }
  };
}

/**
 * Creates a function that verifies a delivery and passes its event to `onEvent`. The function returns why a delivery is
 * refused, and rejects for mistakes of the app, which the sender cannot fix.
 */
function receiver({ onEvent, secret, toleranceSeconds }: WebhookHandlerOptions) {
  const options = { secret: secretsOf(secret), toleranceSeconds };
  // JavaScript callers may omit it. Otherwise, the first event would fail.
  if (typeof onEvent !== 'function') {
    throw new TypeError('onEvent is missing. Pass a function, which is called with every verified event');
  }
  return async (headers: WebhookHeaders, payload: () => WebhookPayload | Promise<WebhookPayload>) => {
    let event: WebhookEvent;
    try {
      event = await verifyWebhook({ ...options, headers, payload: await payload() });
    } catch (error) {
      if (error instanceof WebhookVerificationError) return error.message;
      throw error;
    }
    await onEvent(event);
    return undefined;
  };
}

// Far larger than any event. Anyone can send requests to this URL.
const maxBodyBytes = 1024 ** 2;

const read = async (chunks: AsyncIterable<Uint8Array>) =>
  (
    await readAll(chunks, maxBodyBytes, () => new WebhookVerificationError('The body is too large for an event'))
  ).arrayBuffer();
