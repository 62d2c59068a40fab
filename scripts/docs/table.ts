/** A Markdown table. A `|` inside a cell would end it, also in code, so it is escaped; lines become one. */
export function table(head: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), `|${' --- |'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

const cell = (text: string) => text.replace(/\s*\n\s*/g, ' ').replaceAll('|', '\\|');

/** Inline code; in a longer fence where the text holds a backtick. */
export const code = (text: string) => (text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``);

/** The first line of a page that nobody should edit. */
export const generatedFrom = (source: string) =>
  `<!-- Made by \`npm run docs\` from ${source}. Edit that, not this page. -->`;
