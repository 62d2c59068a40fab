import { errorMessage } from '../base/errors.js';
import type { InferenceSession } from './onnxruntime.js';

interface Loaded {
  readonly session: InferenceSession;
  /** Runs in progress. */
  users: number;
}

/** A graph on one execution provider. */
export interface NetworkKey {
  readonly provider: string;
  /** The bundle's folder. */
  readonly folder: string;
}

/** Holds the networks of an engine that are in memory. A released network is loaded again when it is used. */
export class LoadedNetworks {
  readonly #loaded = new Map<NetworkKey, Loaded>();

  /**
   * Runs work with a network. If the device runs out of memory, releases the other networks and runs the work again.
   *
   * @param key always the same object for a network
   * @param load loads the network if it is not in memory
   */
  async use<T>(
    key: NetworkKey,
    load: () => Promise<InferenceSession>,
    work: (session: InferenceSession) => Promise<T>,
  ): Promise<T> {
    const attempt = async () => {
      let network = this.#loaded.get(key);
      if (!network) {
        network = { session: await load(), users: 0 };
        this.#loaded.set(key, network);
      }
      network.users++;
      try {
        return await work(network.session);
      } finally {
        network.users--;
      }
    };
    return attempt().catch(async (error: unknown) => {
      if (!isOutOfMemory(error)) throw error;
      const released = await this.releaseOthers(key, ({ provider }) => provider === key.provider);
      if (released === 0) throw error;
      return attempt();
    });
  }

  /** Releases the networks, except `key`, that meet a condition and are not running. @returns how many */
  async releaseOthers(key: NetworkKey, condition: (other: NetworkKey) => boolean): Promise<number> {
    const others = [...this.#loaded].filter(([other, { users }]) => other !== key && users === 0 && condition(other));
    for (const [other, { session }] of others) {
      this.#loaded.delete(other);
      await session.release();
    }
    return others.length;
  }

  async release(key: NetworkKey): Promise<void> {
    const network = this.#loaded.get(key);
    this.#loaded.delete(key);
    await network?.session.release();
  }
}

/** Recognizes the messages of onnxruntime's CPU, CUDA and WebGPU providers. */
export const isOutOfMemory = (error: unknown): boolean =>
  /bad_alloc|out of memory|OUT_OF_MEMORY|fail(ed|ure) to allocate|allocation fail/i.test(errorMessage(error));
