import { stripVTControlCharacters } from 'node:util';

/** Writes a size in decimal units, as file managers show it. */
export function bytes(count: number): string {
  if (count < 1000) return `${count} B`;
  if (count < 1_000_000) return `${(count / 1000).toFixed(0)} kB`;
  if (count < 1_000_000_000) return `${(count / 1_000_000).toFixed(1)} MB`;
  return `${(count / 1_000_000_000).toFixed(1)} GB`;
}

/** Writes an age in its largest unit. */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${count(Math.floor(seconds / 86_400), 'day')} ago`;
}

export function duration(ms: number, digits = 1): string {
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(digits)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

export const count = (amount: number, singular: string, plural = `${singular}s`): string =>
  `${amount} ${amount === 1 ? singular : plural}`;

/** Aligns rows in columns, two spaces apart. Cells may contain color codes. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, widthOf(cell));
  }
  const padded = (cell: string, column: number) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell));
  return rows.map((row) => row.map(padded).join('  ').trimEnd()).join('\n');
}

const widthOf = (cell: string) => stripVTControlCharacters(cell).length;

/**
 * Quotes a word for a shell, if necessary. On Windows, double quotes suit both cmd and PowerShell, except for what one
 * of them replaces or runs, such as `$(program)`: no quotes suit both then, and `VALUE` stands for the word.
 */
export function shellWord(word: string, platform = process.platform): string {
  if (platform !== 'win32') return /^[\w.:/-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
  if (/^[\w.\\/:-]+$/.test(word)) return word;
  // PowerShell treats typographic quotes as quotes.
  if (/["\u201C-\u201E$`\r\n]|%.*%/.test(word)) return 'VALUE';
  // A backslash before the quote would escape it.
  return `"${word.replace(/\\+$/, '$&$&')}"`;
}
