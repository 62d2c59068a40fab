/** How much of a request an error message repeats, in characters. */
const maxQuotedLength = 200;

/** The first `max` characters of a text. A character is a code point, so a pair of surrogates is never cut in two. */
export function firstCharacters(text: string, max: number): string {
  // A code point has one or two UTF-16 units, so this much is enough and a text of megabytes is not copied.
  return Array.from(text.slice(0, 2 * max))
    .slice(0, max)
    .join('');
}

/** The part of a request that an error message may repeat: its beginning. */
export function quoted(text: string): string {
  const beginning = firstCharacters(text, maxQuotedLength);
  return beginning.length < text.length ? `${beginning}…` : text;
}

/** The number of characters (code points) in a text: an emoji counts as one, as it does for PostgreSQL and JSON Schema. */
export const characterCount = (text: string): number => Array.from(text).length;

/**
 * Whether UTF-8 can hold the text. It cannot hold half of a surrogate pair, such as `"\ud800"` in JSON: a database would
 * store U+FFFD instead, and two different idempotency keys would become one.
 */
export const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text);

export const notWellFormed = 'must not contain an unpaired surrogate (half of a UTF-16 pair)';
