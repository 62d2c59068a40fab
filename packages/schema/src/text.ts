/** How much of a request an error message may quote, in characters. */
const maxQuotedLength = 200;

/** The maximum length of the name of an account or an API key, in characters. */
export const maxNameLength = 100;

/** Returns the first `max` characters (code points) of a text. Never splits a surrogate pair. */
export function firstCharacters(text: string, max: number): string {
  // A code point has one or two UTF-16 units. Slicing first avoids copying megabytes of text.
  return Array.from(text.slice(0, 2 * max))
    .slice(0, max)
    .join('');
}

/** Quotes the start of a text, for an error message. */
export function quoted(text: string): string {
  const start = firstCharacters(text, maxQuotedLength);
  return start.length < text.length ? `${start}…` : text;
}

/** Removes what editors and shells leave around a value: white space, line ends, a byte order mark, and quotes. */
export function trimmed(text: string): string {
  const bare = text.trim();
  return /^(["'])(.*)\1$/s.exec(bare)?.[2]?.trim() ?? bare;
}

/** Escapes text for HTML or XML, including the values of attributes. */
export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** Counts characters (code points), as PostgreSQL and JSON Schema do. */
export const characterCount = (text: string): number => Array.from(text).length;

/**
 * Whether every database can store the text. UTF-8 cannot represent an unpaired surrogate, such as `"\ud800"` in JSON,
 * and PostgreSQL cannot store U+0000. Both would be stored as another character, which makes two different idempotency
 * keys equal.
 */
export const isStorable = (text: string): boolean => !/\p{Surrogate}|\0/u.test(text);

export const notStorable = 'must not contain U+0000 or an unpaired surrogate (half of a UTF-16 pair)';

/**
 * Converts a text to one line that is safe to print. Control characters, which terminals obey, become spaces. Invisible
 * characters, some of which reverse the text around them, are removed, except between emoji that they join into one,
 * such as a family. So are more than four marks on one character.
 */
export function oneLine(text: string): string {
  return text
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .replace(/(\p{Extended_Pictographic}(?:\p{EMod}|\uFE0F)?\u200D)(?=\p{Extended_Pictographic})|\p{Cf}/gu, '$1')
    .replace(/(\p{M}{4})\p{M}+/gu, '$1')
    .trim();
}
