import { firstCharacters, oneLine } from './text.js';

/** Request header of `POST /v1/jobs` with the job's label, percent-encoded (docs/job-list.md). */
export const labelHeader = 'x-gen3d-label';

/** Longest label, in characters (code points). */
export const maxLabelLength = 200;

/** A label as it is stored: one line of at most 200 characters. Null if nothing is left. */
export function cleanLabel(text: string): string | null {
  return firstCharacters(oneLine(text), maxLabelLength).trim() || null;
}

/** The value of the header for a label. Undefined if the label is empty. */
export function encodeLabel(text: string): string | undefined {
  // File names on Windows may contain unpaired surrogates, which UTF-8 cannot represent.
  const label = cleanLabel(text.replace(/\p{Surrogate}/gu, '\uFFFD'));
  return label === null ? undefined : encodeURIComponent(label);
}

/** The last part of a URL's path, as a label. Null if it has none. */
export function labelOfUrl(url: string): string | null {
  const part = new URL(url).pathname.split('/').filter(Boolean).pop() ?? '';
  try {
    return cleanLabel(decodeURIComponent(part));
  } catch {
    return cleanLabel(part); // not UTF-8
  }
}
