import type {
  PutWebhookEndpointResponse,
  RotateSecretResponse,
  TestWebhookResponse,
  WebhookEndpoint,
} from '@gen3d/schema';
import { type EndpointHealth, having, readEndpointHealth, type WebhookEvents } from '@gen3d/schema/rules';
import type { RequestOptions } from './deadline.js';
import { isAnything, type Transport } from './transport.js';

const path = 'webhook-endpoint';

const isChanged = having<PutWebhookEndpointResponse>({ url: 'string' });
const isEndpoint = having<WebhookEndpoint>({ url: 'string', secret: 'string' });
const isRotated = having<RotateSecretResponse>({ secret: 'string' });
const isTested = having<TestWebhookResponse>({ queued: 'boolean' });

export interface SetWebhookOptions extends RequestOptions {
  /** `final`: only events of jobs that have ended. `all`: of every change. Default: as before; at first `all`. */
  events?: WebhookEvents;
}

/** Reads and changes the account's webhook endpoint. An account has at most one. */
export class WebhookEndpointSettings {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Sets the https URL. The response contains the secret only when the endpoint is first configured; see `get`.
   *
   * @example
   * const { secret } = await gen3d.webhookEndpoint.set('https://example.com/gen3d', { events: 'final' });
   */
  async set(url: string | URL, { events, ...options }: SetWebhookOptions = {}): Promise<PutWebhookEndpointResponse> {
    const request = { ...options, json: { url: String(url), events } };
    return (await this.#transport.call('put', path, isChanged, request)).body;
  }

  /**
   * Returns the URL and the current secret. If the last delivery failed, also says since when all deliveries have
   * failed, and until when they are paused.
   *
   * @throws {NotConfiguredError} if the account has no endpoint
   * @example
   * const { secret, paused_until } = await gen3d.webhookEndpoint.get();
   */
  async get(options?: RequestOptions): Promise<WebhookEndpoint & EndpointHealth> {
    const { body, headers } = await this.#transport.call('get', path, isEndpoint, options);
    return { ...body, ...readEndpointHealth(headers) };
  }

  /** Deletes the endpoint. Deliveries stop immediately. */
  async delete(options?: RequestOptions): Promise<void> {
    await this.#transport.call('delete', path, isAnything, options);
  }

  /**
   * Replaces the secret. The old one stops working immediately.
   *
   * @throws {NotConfiguredError} if the account has no endpoint
   * @example
   * const { secret } = await gen3d.webhookEndpoint.rotate();
   */
  async rotate(options?: RequestOptions): Promise<RotateSecretResponse> {
    return (await this.#transport.call('post', `${path}/rotate`, isRotated, options)).body;
  }

  /**
   * Requests a signed `ping`, which arrives about 10 seconds later.
   *
   * @throws {NotConfiguredError} if the account has no endpoint
   */
  async test(options?: RequestOptions): Promise<TestWebhookResponse> {
    return (await this.#transport.call('post', `${path}/test`, isTested, options)).body;
  }
}
