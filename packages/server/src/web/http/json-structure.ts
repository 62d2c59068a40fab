import { HttpError } from './responses.js';

/** Far more than a request needs, and few enough to parse quickly. */
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

/** Finds the quote that ends the string whose first byte is at `start`. */
function endOfString(json: Buffer, start: number): number {
  for (let end = json.indexOf(quote, start); end >= 0; end = json.indexOf(quote, end + 1)) {
    let backslashes = 0;
    while (json[end - 1 - backslashes] === backslash) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return json.length;
}

/**
 * Refuses JSON with too many or too deeply nested values before it is parsed: a few megabytes of brackets would keep
 * `JSON.parse`, and so all other requests, busy for seconds. Skips strings, so an inline image costs almost nothing.
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
      throw new HttpError(400, 'invalid_request', `body: more than ${maxValues.toLocaleString('en')} values`);
    }
  }
}
