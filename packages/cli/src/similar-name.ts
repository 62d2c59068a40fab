import { closest, distance } from 'fastest-levenshtein';

/** The one of the names that was probably meant, if any is near enough. */
export function similarName(typed: string, names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined;
  const nearest = closest(typed.toLowerCase(), names);
  // As near as commander wants it for its own commands and options.
  const allowed = Math.min(3, 0.4 * Math.max(typed.length, nearest.length));
  return distance(typed.toLowerCase(), nearest) <= allowed ? nearest : undefined;
}
