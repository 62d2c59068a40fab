import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { publishNew } from './durable-file.js';
import { ConfigError } from './errors.js';

const emptyTimeoutMs = 500;
const pollMs = 20;

/**
 * The server's one secret: 32 random bytes in a file with mode 0600, created on first use. Use it through `subkey`. Safe
 * when several processes start at the same time.
 * @throws {ConfigError} if the file is damaged
 */
export function keyInFile(path: string): Buffer {
  try {
    return readKey(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  // A draft file first, so that a process starting at the same time never reads half a key.
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  writeFileSync(draft, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flush: true });
  try {
    publishNew(draft, path);
  } catch (error) {
    rmSync(draft);
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readKey(path);
}

function readKey(path: string): Buffer {
  let text = readFileSync(path, 'utf8');
  // On a file system without hard links, the file is briefly empty while another process creates it.
  for (let waitedMs = 0; text === '' && waitedMs < emptyTimeoutMs; waitedMs += pollMs) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pollMs);
    text = readFileSync(path, 'utf8');
  }
  const key = Buffer.from(text.trim(), 'hex');
  if (key.length !== 32) {
    // Never replaced: every API key and webhook secret in the database depends on it.
    throw new ConfigError(
      `${path} is damaged: it must contain 64 hexadecimal digits. Restore it from a backup, or choose another data directory with --data-dir`,
    );
  }
  return key;
}

/** Fingerprint of a key given as 64 hexadecimal digits. */
export const fingerprintOf = (key: string): string =>
  hmac(subkey(Buffer.from(key, 'hex'), 'fingerprint'), 'gen3d').toString('hex');

export type KeyPurpose =
  | 'api-keys'
  | 'webhook-secrets'
  | 'cursors'
  | 'fingerprint'
  | 'dashboard-tokens'
  | 'listener-secrets';

/** Derives a 32-byte key for one purpose, so that a leaked key of one purpose is useless for another. */
export function subkey(serverKey: Buffer, purpose: KeyPurpose): Buffer {
  return Buffer.from(hkdfSync('sha256', serverKey, '', `gen3d ${purpose}`, 32));
}

/** HMAC-SHA256 of a text, 32 bytes. */
export function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
