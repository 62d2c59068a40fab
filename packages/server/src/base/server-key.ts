import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { closeSync, existsSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { coalesced } from './coalesced.js';
import { writeDurably } from './durable-file.js';
import { ConfigError } from './errors.js';

const emptyTimeoutMs = 500;
const pollMs = 20;

/** An API key stops working if it is not used while this many server keys replace one another. */
const maxKeys = 8;

/** The server's secrets, 32 random bytes each, the current one first. Use them through a `KeyRing`. */
export type ServerKeys = readonly Buffer[];

export const newKey = (): Buffer => randomBytes(32);

/** @param text 64 hexadecimal digits for each key, separated by commas or spaces */
export const keysOf = (text: string): ServerKeys => text.split(/[\s,]+/).map((key) => Buffer.from(key, 'hex'));

export const textOf = (keys: ServerKeys): string => keys.map((key) => key.toString('hex')).join(',');

/** Puts a new key before the others, and drops the oldest if there are too many. */
export const rotated = (keys: ServerKeys): ServerKeys => [newKey(), ...keys].slice(0, maxKeys);

/**
 * Reads the server keys from a file with mode 0600, which is created with one key on first use. Safe when several
 * processes start at the same time.
 * @throws {ConfigError} if the file is damaged
 */
export function keysInFile(path: string): ServerKeys {
  if (!existsSync(path)) createKeyFile(path);
  return readKeys(path);
}

function createKeyFile(path: string): void {
  let file: number;
  try {
    file = openSync(path, 'wx', 0o600);
  } catch (error) {
    // Another process creates it.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
    throw error;
  }
  try {
    writeFileSync(file, `${textOf([newKey()])}\n`, { flush: true });
  } catch (error) {
    // An empty file would count as damaged.
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}

/** Replaces the file, one line for each key. Callers take turns with a lock of the database. */
export const writeKeys = (path: string, keys: ServerKeys): Promise<void> =>
  writeDurably(path, Buffer.from(`${textOf(keys).replaceAll(',', '\n')}\n`), 0o600);

function readKeys(path: string): ServerKeys {
  let text = readFileSync(path, 'utf8');
  // The file is briefly empty while another process creates it.
  for (let waitedMs = 0; text === '' && waitedMs < emptyTimeoutMs; waitedMs += pollMs) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pollMs);
    text = readFileSync(path, 'utf8');
  }
  const keys = keysOf(text.trim());
  if (keys.some((key) => key.length !== 32)) {
    // A damaged file is never replaced, because every API key and webhook secret in the database depends on it.
    throw new ConfigError(
      `${path} is damaged: each line must contain 64 hexadecimal digits. Restore it from a backup, or choose another data directory with --data-dir`,
    );
  }
  return keys;
}

/** Identifies a key without revealing it. */
export const fingerprintOf = (key: Buffer): string => hmac(subkey(key, 'fingerprint'), 'gen3d').toString('hex');

type KeyPurpose = 'api-keys' | 'webhook-secrets' | 'cursors' | 'fingerprint' | 'dashboard-tokens';

/** Derives a 32-byte key for one purpose, so that a leaked key of one purpose is useless for another. */
function subkey(serverKey: Buffer, purpose: KeyPurpose): Buffer {
  return Buffer.from(hkdfSync('sha256', serverKey, '', `gen3d ${purpose}`, 32));
}

/** Computes the HMAC-SHA256 of a text, 32 bytes. */
export function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

/**
 * The server keys that this process knows. The first protects everything new; the others still open what they
 * protected, so clients do not notice a rotation. A process reads the keys again when something fits none that it
 * knows, so it does not have to be restarted. The price: a request with an unknown API key reads them, too. All
 * requests that wait for the keys share one read, so a flood of them costs one read at a time.
 */
export class KeyRing {
  /** Learns of rotations by other processes that ended before this call. */
  readonly refresh = coalesced(() => this.#readAgain());
  #keys: ServerKeys;
  readonly #read: () => Promise<ServerKeys>;
  readonly #subkeys = new Map<KeyPurpose, readonly Buffer[]>();

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
