import { closest, distance } from 'fastest-levenshtein';

/** The most similar name to a mistyped one, if it is similar enough. */
export function similarName(typed: string, names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined;
  const nearest = closest(typed.toLowerCase(), names);
  // The limit that commander applies to its commands and options.
  const maxDistance = Math.min(3, 0.4 * Math.max(typed.length, nearest.length));
  return distance(typed.toLowerCase(), nearest) <= maxDistance ? nearest : undefined;
}
