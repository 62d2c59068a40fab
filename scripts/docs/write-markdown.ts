const maxColumns = 120;

/** A generated page: sections with blank lines in between, without empty ones, and wrapped. */
export function page(source: string, sections: readonly string[]): string {
  const comment = `<!-- Made by \`npm run docs\` from ${source}. Edit that, not this page. -->`;
  return `${[comment, ...sections].filter(Boolean).map(wrap).join('\n\n')}\n`;
}

/** Wraps paragraphs and list items. Tables, headings and code blocks stay as they are. */
function wrap(section: string): string {
  if (/^(```|\||#|<)/.test(section)) return section;
  // A line break in inline code or in a link is valid, but hard to read.
  return section.replace(/^.+$/gm, (line) => {
    const indent = line.startsWith('- ') ? '  ' : '';
    const words = line.match(/(`[^`]*`|\[[^\]]*\]\([^)]*\)|\S)+/g) ?? [];
    const lines = [words[0] ?? ''];
    for (const word of words.slice(1)) {
      const longer = `${lines.at(-1)} ${word}`;
      if (longer.length > maxColumns) lines.push(indent + word);
      else lines[lines.length - 1] = longer;
    }
    return lines.join('\n');
  });
}

/** A Markdown table. A `|` inside a cell would end it, even in code, so it is escaped. Line breaks become spaces. */
export function table(head: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), `|${' --- |'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

const cell = (text: string) => text.replace(/\s*\n\s*/g, ' ').replaceAll('|', '\\|');

/** Inline code; in a longer fence if the text contains a backtick. */
export const code = (text: string) => (text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``);

/** Keeps Markdown from turning placeholders such as `http://HOST:PORT` into links. */
export const withUrlsAsCode = (text: string) => text.replace(/https?:\/\/[A-Z]\S*/g, code);
