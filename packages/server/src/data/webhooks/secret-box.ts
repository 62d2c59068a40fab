import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { subkey } from '../../base/server-key.js';

/**
 * Encrypts webhook secrets at rest with AES-256-GCM under the server key. They are bound to the account: neither a copy of
 * the database nor a row moved to another account reveals a secret. Format: `v1.` and base64url of iv, tag, ciphertext.
 */
export class SecretBox {
  readonly #key: Buffer;

  constructor(serverKey: Buffer) {
    this.#key = subkey(serverKey, 'webhook-secrets');
  }

  seal(secret: string, accountId: string): string {
    const iv = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv).setAAD(Buffer.from(accountId));
    const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
    return `v1.${Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')}`;
  }

  /** @throws if the text was not sealed for this account under this server key */
  open(sealed: string, accountId: string): string {
    if (!sealed.startsWith('v1.')) throw new Error('The stored webhook secret has an unknown format');
    const bytes = Buffer.from(sealed.slice(3), 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, 12))
      .setAAD(Buffer.from(accountId))
      .setAuthTag(bytes.subarray(12, 28));
    return decipher.update(bytes.subarray(28), undefined, 'utf8') + decipher.final('utf8');
  }
}
