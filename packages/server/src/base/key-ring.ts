import { type KeyPurpose, type ServerKeys, subkey } from './server-key.js';

/**
 * The server keys that this process knows. The first protects everything new; the others still open what they
 * protected, so clients do not notice a rotation. A process reads the keys again when something fits none that it
 * knows, so it does not have to be restarted. The price: a request with an unknown API key reads them, too. All
 * requests that wait for the keys share one read, so a flood of them costs one read at a time.
 */
export class KeyRing {
  #keys: ServerKeys;
  readonly #read: () => Promise<ServerKeys>;
  readonly #subkeys = new Map<KeyPurpose, readonly Buffer[]>();
  #reading: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(keys: ServerKeys, read: () => Promise<ServerKeys> = async () => keys) {
    this.#keys = keys;
    this.#read = read;
  }

  /** Derives the keys for one purpose, the current one first. */
  subkeys(purpose: KeyPurpose): readonly Buffer[] {
    const known = this.#subkeys.get(purpose) ?? this.#keys.map((key) => subkey(key, purpose));
    this.#subkeys.set(purpose, known);
    return known;
  }

  current(purpose: KeyPurpose): Buffer {
    return this.subkeys(purpose)[0] as Buffer;
  }

  /** Learns of rotations by other processes that ended before this call. A read that has begun may have missed them. */
  refresh(): Promise<void> {
    this.#next ??= this.#reading
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        this.#reading = this.#readAgain();
        return this.#reading;
      });
    return this.#next;
  }

  async #readAgain(): Promise<void> {
    const keys = await this.#read();
    const current = this.#keys[0] as Buffer;
    // A read that began before a rotation may end after a later one. Keys without the current one are a mistake of the
    // operator, such as a deleted file.
    if (keys.findIndex((key) => key.equals(current)) < 1) return;
    this.#keys = keys;
    this.#subkeys.clear();
  }

  /**
   * Returns the first result that `find` has for one of the keys. If there is none, it tries all keys once more:
   * another process may have added a key, or replaced an HMAC between two tries.
   */
  async search<T>(
    purpose: KeyPurpose,
    find: (key: Buffer) => T | undefined | Promise<T | undefined>,
  ): Promise<T | undefined> {
    for (let tries = 1; ; tries++) {
      const keys = this.subkeys(purpose);
      for (const key of keys) {
        const found = await find(key);
        if (found !== undefined) return found;
      }
      if (tries === 2) return undefined;
      await this.refresh();
      if (keys.length === 1 && this.subkeys(purpose) === keys) return undefined;
    }
  }
}
