import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { KeyRing } from '../../base/key-ring.js';

const purpose = 'webhook-secrets';

/**
 * Encrypts webhook secrets at rest with AES-256-GCM under the server key. They are bound to the account: neither a copy of
 * the database nor a row moved to another account reveals a secret. Format: `v1.` and base64url of iv, tag, ciphertext.
 */
export class SecretBox {
  readonly #keyRing: KeyRing;

  constructor(keyRing: KeyRing) {
    this.#keyRing = keyRing;
  }

  /** Uses the newest server key, because the one before may have leaked. */
  async seal(secret: string, accountId: string): Promise<string> {
    await this.#keyRing.refresh();
    const iv = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', this.#keyRing.current(purpose), iv).setAAD(Buffer.from(accountId));
    const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
    return `v1.${Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')}`;
  }

  /** @throws if the text was not sealed for this account under one of the server keys */
  async open(sealed: string, accountId: string): Promise<string> {
    if (!sealed.startsWith('v1.')) throw new Error('The stored webhook secret has an unknown format');
    const bytes = Buffer.from(sealed.slice(3), 'base64url');
    const secret = await this.#keyRing.search(purpose, (key) => decrypt(key, bytes, accountId));
    if (secret === undefined) throw new Error('The stored webhook secret belongs to another account or server key');
    return secret;
  }
}

function decrypt(key: Buffer, bytes: Buffer, accountId: string): string | undefined {
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12))
    .setAAD(Buffer.from(accountId))
    .setAuthTag(bytes.subarray(12, 28));
  const secret = decipher.update(bytes.subarray(28), undefined, 'utf8');
  try {
    return secret + decipher.final('utf8');
  } catch {
    return undefined;
  }
}
