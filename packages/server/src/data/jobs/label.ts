import type { JobRow } from '../db/tables.js';

/** Folds case and compatibility variants for comparisons. Done here, because databases differ in both. */
export const foldLabel = (text: string): string => text.normalize('NFKC').toLowerCase();

export const labelColumns = (label: string | null): Pick<JobRow, 'label' | 'label_folded'> => ({
  label,
  label_folded: foldLabel(label ?? ''),
});
