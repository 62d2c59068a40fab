import { cleanLabel } from '@gen3d/schema';
import type { JobRow } from '../db/tables.js';

/** A text for comparisons that ignore case and compatibility variants, computed here because databases differ in both. */
export const foldLabel = (text: string): string => text.normalize('NFKC').toLowerCase();

export const labelColumns = (label: string | null): Pick<JobRow, 'label' | 'label_folded'> => ({
  label,
  label_folded: foldLabel(label ?? ''),
});

/** The last part of a URL's path. Null if it has none. */
export function labelOfUrl(url: string): string | null {
  const part = new URL(url).pathname.split('/').findLast(Boolean);
  if (part === undefined) return null;
  try {
    return cleanLabel(decodeURIComponent(part));
  } catch {
    return cleanLabel(part); // not UTF-8
  }
}
