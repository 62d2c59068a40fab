import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, ConfigError } from './config.js';

/** Where things lie in the data directory. */
export interface DataDir {
  database: string;
  inputs: string;
  assets: string;
  models: string;
  /** The server's one secret: 32 random bytes in a file that only its owner reads. Use it through `subkey`. */
  serverKey: Buffer;
}

/**
 * Makes the data directory on first use. Safe when several processes start at once.
 * @throws {ConfigError} if it cannot be a folder, or its key is damaged
 */
export function openDataDir(config: Pick<Config, 'dataDir' | 'assets'>): DataDir {
  const { dataDir } = config;
  // Owner only: it holds customers' photos, and the database holds what the server key can decrypt.
  makeFolder(dataDir, '--data-dir', 0o700);
  const paths = {
    database: join(dataDir, 'gen3d.sqlite'),
    inputs: join(dataDir, 'inputs'),
    assets: config.assets ?? join(dataDir, 'assets'),
    models: join(dataDir, 'models'),
  };
  // The data directory may have been there before, open to everybody.
  makeFolder(paths.inputs, '--data-dir', 0o700);
  makeFolder(paths.assets, config.assets === undefined ? '--data-dir' : '--assets');
  return { ...paths, serverKey: readOrMakeServerKey(join(dataDir, 'server.key')) };
}

function makeFolder(path: string, flag: string, mode?: number): void {
  try {
    mkdirSync(path, { recursive: true, mode });
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const why =
      code === 'EEXIST' || code === 'ENOTDIR'
        ? `${path} cannot be a folder, because a file is in its place`
        : `The folder ${path} cannot be made (${message})`;
    throw new ConfigError(`${why}: choose another one with ${flag}`, { cause });
  }
}

function readOrMakeServerKey(path: string): Buffer {
  const read = () => {
    const key = Buffer.from(readFileSync(path, 'utf8').trim(), 'hex');
    if (key.length !== 32) {
      // Not made anew: every API key and webhook secret in the database depends on it.
      throw new ConfigError(
        `${path} is damaged: it must hold 64 hexadecimal digits. Put a backup in its place, or choose another data directory with --data-dir`,
      );
    }
    return key;
  };
  try {
    return read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  // Written aside and linked into place: a second process either makes the key or reads a whole one.
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  writeFileSync(draft, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flush: true });
  try {
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft);
  }
  return read();
}

export type KeyPurpose = 'api-keys' | 'webhook-secrets' | 'cursors';

/** A 32-byte key for one purpose, so that no two uses of the server key can be played against each other. */
export function subkey(serverKey: Buffer, purpose: KeyPurpose): Buffer {
  return Buffer.from(hkdfSync('sha256', serverKey, '', `gen3d ${purpose}`, 32));
}

/** HMAC-SHA256 of a text, 32 bytes. */
export function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
