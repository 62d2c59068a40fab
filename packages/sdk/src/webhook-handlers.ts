import type { WebhookEvent } from '@gen3d/schema';
import {
  type VerifyWebhookOptions,
  verifyWebhook,
  type WebhookPayload,
  WebhookVerificationError,
} from './webhook-signature.js';

export interface WebhookHandlerOptions extends Pick<VerifyWebhookOptions, 'secret' | 'toleranceSeconds'> {
  /**
   * Called with every verified event. Deliveries are at least once: keep `event_id`s, or make doing it twice harmless.
   * Be quick: the sender waits 10 s. If it throws, the answer is a 500 and the delivery comes again.
   */
  readonly onEvent: (event: WebhookEvent) => void | Promise<void>;
}

const eatenBody =
  'The body was read before it was verified: hand this handler the request untouched, before request.json() or a body parser';

/**
 * A handler for servers that speak fetch: Hono, Next.js, Bun, Deno, Cloudflare Workers.
 *
 * @example
 * export const POST = webhookHandler({ secret, onEvent: async (event) => { ... } }); // Next.js
 */
export function webhookHandler({
  onEvent,
  ...options
}: WebhookHandlerOptions): (request: Request) => Promise<Response> {
  return async (request) => {
    // A mistake of the app, not of the sender: the 500 that becomes of it shows in the app's log, and the event comes again.
    if (request.bodyUsed) throw new WebhookVerificationError(eatenBody);
    let event: WebhookEvent;
    try {
      event = await verifyWebhook({ ...options, payload: await request.arrayBuffer(), headers: request.headers });
    } catch (error) {
      if (error instanceof WebhookVerificationError) return new Response(error.message, { status: 400 });
      throw error;
    }
    await onEvent(event);
    return new Response(null, { status: 204 });
  };
}

/** What this handler uses of Express's request: also what Node's own http server gives. */
export interface WebhookRequest extends AsyncIterable<Uint8Array> {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body?: unknown;
  /** The bytes, where the platform keeps them beside a parsed body: Google's and Firebase's functions do. */
  readonly rawBody?: unknown;
}

export interface WebhookResponse {
  statusCode: number;
  end(text?: string): unknown;
}

/**
 * A handler for Express. It reads the body itself, or takes the one that `express.raw`, `express.text` or a platform (`rawBody`) left.
 *
 * A body that a JSON parser has already eaten is an error of the app, not of the sender: it goes to `next`.
 * @example
 * app.post('/gen3d', expressWebhookHandler({ secret, onEvent: async (event) => { ... } })); // above app.use(express.json())
 */
export function expressWebhookHandler({ onEvent, ...options }: WebhookHandlerOptions) {
  return async (request: WebhookRequest, response: WebhookResponse, next: (error: unknown) => void): Promise<void> => {
    const { headers } = request;
    const body = request.rawBody instanceof Uint8Array ? request.rawBody : request.body;
    try {
      // Whatever a parser left there: verifyWebhook looks at what it really is, and says what to do if it was parsed.
      const payload = (body ?? (await read(request))) as WebhookPayload;
      await onEvent(await verifyWebhook({ ...options, payload, headers }));
      response.statusCode = 204;
      response.end();
    } catch (error) {
      const untouched = body === undefined || body instanceof Uint8Array || typeof body === 'string';
      if (!(error instanceof WebhookVerificationError && untouched)) return next(error);
      response.statusCode = 400;
      response.end(error.message);
    }
  };
}

// More than any event needs; a stranger may post to this URL before anything is verified.
const longestBody = 1024 ** 2;

async function read(chunks: AsyncIterable<Uint8Array>): Promise<ArrayBuffer> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > longestBody) throw new WebhookVerificationError('The body is too long for an event');
    parts.push(new Uint8Array(chunk));
  }
  return new Blob(parts).arrayBuffer();
}
