import { HttpError } from './errors.js';

/** Far more than a request has any use for, and few enough that parsing them is not felt. */
const maxValues = 10_000;
const maxDepth = 100;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** The index of the quote that ends the string whose first byte is at `start`. */
function endOfString(json: Buffer, start: number): number {
  for (let end = json.indexOf(quote, start); end >= 0; end = json.indexOf(quote, end + 1)) {
    let backslashes = 0;
    while (json[end - 1 - backslashes] === backslash) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return json.length;
}

/**
 * Refuses JSON of very many or very deep values before it is parsed: a few megabytes of brackets keep `JSON.parse`, and
 * with it every other request, busy for seconds. Long strings are skipped, so an inline image costs next to nothing.
 * @throws {HttpError} 400 `invalid_request`
 */
export function checkJsonStructure(json: Buffer): void {
  let values = 1;
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === quote) at = endOfString(json, at + 1);
    else if (byte === openBracket || byte === openBrace) {
      depth++;
      values++;
    } else if (byte === closeBracket || byte === closeBrace) depth--;
    else if (byte === comma || byte === colon) values++;
    if (depth > maxDepth) throw new HttpError(400, 'invalid_request', `body: nested deeper than ${maxDepth} levels`);
    if (values > maxValues) {
      throw new HttpError(400, 'invalid_request', `body: holds more than ${maxValues.toLocaleString('en')} values`);
    }
  }
}
