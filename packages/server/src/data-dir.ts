import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from './config.js';

/** Where things lie in the data directory. */
export interface DataDir {
  database: string;
  inputs: string;
  assets: string;
  models: string;
  /** The server's one secret: 32 random bytes in a file that only its owner reads. Use it through `subkey`. */
  serverKey: Buffer;
}

/** Makes the data directory on first use. Safe when several processes start at once. */
export function openDataDir(config: Pick<Config, 'dataDir' | 'assets'>): DataDir {
  const { dataDir } = config;
  // Owner only: it holds customers' photos, and the database holds what the server key can decrypt.
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const paths = {
    database: join(dataDir, 'gen3d.sqlite'),
    inputs: join(dataDir, 'inputs'),
    assets: config.assets ?? join(dataDir, 'assets'),
    models: join(dataDir, 'models'),
  };
  for (const path of [paths.inputs, paths.assets]) mkdirSync(path, { recursive: true });
  return { ...paths, serverKey: readOrMakeServerKey(join(dataDir, 'server.key')) };
}

function readOrMakeServerKey(path: string): Buffer {
  const read = () => {
    const key = Buffer.from(readFileSync(path, 'utf8').trim(), 'hex');
    if (key.length !== 32) throw new Error(`${path} is damaged: it must hold 64 hexadecimal digits`);
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
