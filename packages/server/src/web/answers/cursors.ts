import { timingSafeEqual } from 'node:crypto';
import { hmac, type KeyRing } from '../../base/server-key.js';
import { invalidCursor } from './responses.js';

const ulidLength = 26;
const macLength = 16;
const purpose = 'cursors';

const macOf = (key: Buffer, accountId: string, position: string): Buffer =>
  hmac(key, `${accountId} ${position}`).subarray(0, macLength);

/** Points to the last job or entry of a page. */
export interface Position {
  id: string;
  /** Lists that are sorted by the label need it, because the job may be deleted before the next page is read. */
  label: string;
}

/**
 * Issues and reads page tokens. A token contains the end of a page, signed for one account, so it can
 * neither be forged nor used by another account.
 */
export class Cursors {
  readonly #keyRing: KeyRing;

  constructor(keyRing: KeyRing) {
    this.#keyRing = keyRing;
  }

  /** Issues a base64url token that continues after a job or entry. */
  issue(accountId: string, id: string, label = ''): string {
    const position = id + label;
    return Buffer.concat([Buffer.from(position), macOf(this.#keyRing.current(purpose), accountId, position)]).toString(
      'base64url',
    );
  }

  /**
   * Reads the position in a token. Undefined without a token.
   * @throws {HttpError} 400 `invalid_cursor` for anything that this server has not issued to this account
   */
  async read(accountId: string, cursor: unknown): Promise<Position | undefined> {
    if (cursor === undefined) return undefined;
    const bytes = Buffer.from(String(cursor), 'base64url');
    const position = bytes.toString('utf8', 0, Math.max(0, bytes.length - macLength));
    // Decoding skips what is not base64url; encoding again shows whether anything was skipped.
    const isIssued =
      position.length >= ulidLength &&
      bytes.toString('base64url') === cursor &&
      (await this.#keyRing.search(purpose, (key) =>
        timingSafeEqual(bytes.subarray(-macLength), macOf(key, accountId, position)) ? true : undefined,
      ));
    if (!isIssued) throw invalidCursor();
    return { id: position.slice(0, ulidLength), label: position.slice(ulidLength) };
  }
}
