import type { MessagePort } from 'node:worker_threads';
import { Channel, transfer } from '@gen3d/rpc';
import { engineErrors } from '../base/errors.js';
import type { OpenSession } from '../network/session.js';
import type { DeviceTimes, Networks } from './threads.js';

/** Sessions that run in the network thread, for one pipeline thread. */
export class RemoteSessions {
  readonly #networks: Channel<Networks>;
  /**
   * Belongs to the photo that uses the sessions. Once it is aborted, no network starts for that photo, and the photo no
   * longer waits for the one that runs. The run itself continues, because onnxruntime cannot interrupt it.
   */
  signal: AbortSignal | undefined;
  #deviceMs = 0;
  #waitMs = 0;

  constructor(port: MessagePort) {
    this.#networks = new Channel(port, {}, engineErrors);
  }

  /** A clock in milliseconds that stops while a request waits for the device, and while a network is loaded. */
  readonly now = (): number => performance.now() - this.#waitMs;

  /** Returns the times of all requests so far. */
  get times(): DeviceTimes {
    return { deviceMs: this.#deviceMs, deviceWaitMs: this.#waitMs };
  }

  readonly open: OpenSession = async (bundle, file, inputs, outputs) => {
    // Loading counts as waiting, because otherwise the first photo after a start would cost more than the others.
    const opening = this.#networks.call('open', { bundle, file, inputs, outputs });
    const { path, shapes } = await this.#timed(opening, () => 0);
    return {
      shapeOf: (name) => shapes.get(name) ?? [],
      run: async (values) => {
        const { signal } = this;
        signal?.throwIfAborted();
        // Copies, because callers reuse their arrays.
        const copies = Object.fromEntries(
          Object.entries(values).map(([name, { shape, data }]) => [name, { shape, data: data.slice() }]),
        );
        const buffers = Object.values(copies).map(({ data }) => data.buffer);
        const running = this.#networks.call('run', transfer({ path, inputs: copies }, buffers), { signal });
        return (await this.#timed(untilAborted(running, signal), ({ deviceMs }) => deviceMs)).outputs;
      },
      // The other pipeline threads use the session too. The network thread releases it when it ends.
      release: async () => {},
    };
  };

  async #timed<T>(call: Promise<T>, deviceTime: (result: T) => number): Promise<T> {
    const sentAt = performance.now();
    const result = await call;
    const deviceMs = deviceTime(result);
    this.#deviceMs += deviceMs;
    this.#waitMs += Math.max(0, performance.now() - sentAt - deviceMs);
    return result;
  }
}

/** Settles like `work`, but rejects as soon as the signal is aborted. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  let abandon = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abandon = () => reject(signal.reason);
  });
  signal.addEventListener('abort', abandon);
  return Promise.race([work, aborted]).finally(() => signal.removeEventListener('abort', abandon));
}
