import { timingSafeEqual } from 'node:crypto';
import { hmac, type KeyRing } from '../../base/server-key.js';
import { invalidCursor } from './responses.js';

const ulidLength = 26;
const macLength = 16;
const purpose = 'cursors';

const macOf = (key: Buffer, accountId: string, id: string): Buffer =>
  hmac(key, `${accountId} ${id}`).subarray(0, macLength);

/**
 * Issues and reads page tokens. A token contains the id at the end of a page, signed for one account, so it can
 * neither be forged nor used by another account.
 */
export class Cursors {
  readonly #keyRing: KeyRing;

  constructor(keyRing: KeyRing) {
    this.#keyRing = keyRing;
  }

  /** Issues a base64url token that continues after a job or entry. */
  issue(accountId: string, id: string): string {
    return Buffer.concat([Buffer.from(id), macOf(this.#keyRing.current(purpose), accountId, id)]).toString('base64url');
  }

  /**
   * Reads the id in a token. Undefined without a token.
   * @throws {HttpError} 400 `invalid_cursor` for anything that this server has not issued to this account
   */
  async read(accountId: string, cursor: unknown): Promise<string | undefined> {
    if (cursor === undefined) return undefined;
    const bytes = Buffer.from(String(cursor), 'base64url');
    const id = bytes.toString('utf8', 0, ulidLength);
    // Decoding skips what is not base64url; encoding again shows whether anything was skipped.
    const isIssued =
      bytes.length === ulidLength + macLength &&
      bytes.toString('base64url') === cursor &&
      (await this.#keyRing.search(purpose, (key) =>
        timingSafeEqual(bytes.subarray(-macLength), macOf(key, accountId, id)) ? true : undefined,
      ));
    if (!isIssued) throw invalidCursor();
    return id;
  }
}
