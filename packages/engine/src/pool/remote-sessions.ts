import type { MessagePort } from 'node:worker_threads';
import type { OpenSession } from '../network/session.js';
import { fromSentError } from '../rpc/sent-error.js';
import type { DeviceTimes, NetworkReply, NetworkRequest } from './messages.js';

/** Sessions that run in the network thread, for one pipeline thread. */
export class RemoteSessions {
  readonly #port: MessagePort;
  readonly #pending: ((reply: NetworkReply) => void)[] = [];
  #deviceMs = 0;
  #waitMs = 0;

  constructor(port: MessagePort) {
    this.#port = port;
    port.on('message', (reply: NetworkReply) => this.#pending.shift()!(reply));
  }

  /** A clock in milliseconds that stops while a request waits for the device, and while a network is loaded. */
  readonly now = (): number => performance.now() - this.#waitMs;

  /** The times of all requests so far. */
  get times(): DeviceTimes {
    return { deviceMs: this.#deviceMs, deviceWaitMs: this.#waitMs };
  }

  readonly open: OpenSession = async (bundle, file, inputs, outputs) => {
    const { path, shapes } = await this.#request('opened', { type: 'open', bundle, file, inputs, outputs });
    return {
      shapeOf: (name) => shapes.get(name) ?? [],
      run: async (values) => {
        // Copies, because callers reuse their arrays.
        const copies = Object.fromEntries(
          Object.entries(values).map(([name, { shape, data }]) => [name, { shape, data: data.slice() }]),
        );
        const buffers = Object.values(copies).map(({ data }) => data.buffer);
        return (await this.#request('ran', { type: 'run', path, inputs: copies }, buffers)).outputs;
      },
      // The other pipeline threads use the session too. The network thread releases it when it ends.
      release: async () => {},
    };
  };

  async #request<T extends NetworkReply['type']>(
    type: T,
    request: NetworkRequest,
    transferred: readonly ArrayBuffer[] = [],
  ): Promise<Extract<NetworkReply, { type: T }>> {
    const sentAt = performance.now();
    const reply = await new Promise<NetworkReply>((resolve) => {
      this.#pending.push(resolve);
      this.#port.postMessage(request, transferred);
    });
    // Loading counts as waiting, because otherwise the first photo after a start would cost more than the others.
    const deviceMs = type === 'opened' ? 0 : reply.deviceMs;
    this.#deviceMs += deviceMs;
    this.#waitMs += Math.max(0, performance.now() - sentAt - deviceMs);
    if (reply.type === 'failed') throw fromSentError(reply.error);
    if (reply.type !== type) throw new Error(`the network thread replied ${reply.type} instead of ${type}`);
    return reply as Extract<NetworkReply, { type: T }>;
  }
}
