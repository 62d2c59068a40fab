import type {
  PutWebhookEndpointResponse,
  RotateSecretResponse,
  TestWebhookResponse,
  WebhookEndpoint,
} from '@gen3d/schema';
import type { RequestOptions } from './deadline.js';
import { expectBody, isEndpoint, isPutEndpoint, isQueued, isSecret } from './response-bodies.js';
import type { Transport } from './transport.js';

const path = 'webhook-endpoint';

/** Where the account's events go. One per account. */
export class WebhookEndpointSettings {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Registers or changes the https URL. The secret is in the answer only the first time; `get` always has it. */
  async set(url: string | URL, options?: RequestOptions): Promise<PutWebhookEndpointResponse> {
    const { body } = await this.#transport.call('put', path, { ...options, json: { url: String(url) } });
    return expectBody(body, isPutEndpoint, 'webhook endpoint');
  }

  /** The URL and the current secret. @throws {NotConfiguredError} if there is none */
  async get(options?: RequestOptions): Promise<WebhookEndpoint> {
    const { body } = await this.#transport.call('get', path, options);
    return expectBody(body, isEndpoint, 'webhook endpoint');
  }

  /** Deliveries stop at once. */
  async delete(options?: RequestOptions): Promise<void> {
    await this.#transport.call('delete', path, options);
  }

  /** A new secret; the old one stops working at once. @throws {NotConfiguredError} if there is no endpoint */
  async rotate(options?: RequestOptions): Promise<RotateSecretResponse> {
    const { body } = await this.#transport.call('post', `${path}/rotate`, { ...options, repeatable: false });
    return expectBody(body, isSecret, 'secret');
  }

  /** A signed `ping` arrives about 10 seconds later. @throws {NotConfiguredError} if there is no endpoint */
  async test(options?: RequestOptions): Promise<TestWebhookResponse> {
    const { body } = await this.#transport.call('post', `${path}/test`, { ...options, repeatable: false });
    return expectBody(body, isQueued, 'queued test');
  }
}
