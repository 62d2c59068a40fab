import { timingSafeEqual } from 'node:crypto';
import { Ulid } from '@gen3d/schema';
import { hmac, subkey } from '../../base/server-key.js';

const ulidLength = 26;
const macLength = 16;

/** Page tokens: the last id of a page, signed for one account, so that they cannot be invented or used by another. */
export class Cursors {
  readonly #key: Buffer;

  constructor(serverKey: Buffer) {
    this.#key = subkey(serverKey, 'cursors');
  }

  #mac(accountId: string, jobId: string): Buffer {
    return hmac(this.#key, `${accountId} ${jobId}`).subarray(0, macLength);
  }

  /** A base64url token that continues after `jobId`. */
  issue(accountId: string, jobId: string): string {
    return Buffer.concat([Buffer.from(jobId), this.#mac(accountId, jobId)]).toString('base64url');
  }

  /** The job id in a token, or undefined for anything this server has not issued to this account. */
  read(accountId: string, cursor: string): string | undefined {
    const bytes = Buffer.from(cursor, 'base64url');
    // Decoding skips what is not base64url; encoding again shows whether anything was skipped.
    if (bytes.length !== ulidLength + macLength || bytes.toString('base64url') !== cursor) return undefined;
    const jobId = bytes.toString('latin1', 0, ulidLength);
    if (!Ulid.safeParse(jobId).success) return undefined;
    return timingSafeEqual(bytes.subarray(ulidLength), this.#mac(accountId, jobId)) ? jobId : undefined;
  }
}
