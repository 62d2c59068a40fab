import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import GithubSlugger from 'github-slugger';
import { lexer, type Token, walkTokens } from 'marked';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** A fenced block of code. */
export interface Block {
  /** `README.md:41` */
  readonly location: string;
  readonly page: string;
  readonly language: string;
  readonly text: string;
}

export interface Link {
  readonly location: string;
  readonly page: string;
  readonly href: string;
}

export interface Page {
  /** Relative to the root of the repository, with slashes. */
  readonly path: string;
  readonly blocks: readonly Block[];
  readonly links: readonly Link[];
  /** Inline code such as `gen3d list`. */
  readonly commands: ReadonlyArray<{ readonly location: string; readonly text: string }>;
  /** Valid fragments of links. */
  readonly anchors: ReadonlySet<string>;
}

/** Our pages. Licenses and notices of other projects are not checked. */
const ours =
  /^(README|CONTRIBUTING|docs\/.+|packages\/[^/]+\/README|models\/(.+\/)?README|examples\/(.+\/)?README)\.md$/;

/** All pages, including untracked ones. */
export function pages(): Page[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
    cwd: root,
    encoding: 'utf8',
  });
  const paths = [...new Set(listed.split('\n'))].filter((path) => ours.test(path) && existsSync(join(root, path)));
  return paths.sort().map((path) => parsePage(path, readFileSync(join(root, path), 'utf8')));
}

export function parsePage(path: string, text: string): Page {
  const blocks: Block[] = [];
  const links: Link[] = [];
  const commands: Array<{ location: string; text: string }> = [];
  const slugger = new GithubSlugger();
  const anchors = new Set<string>();
  // Tokens have no line numbers. They are in the order of the text, so look for each after the previous one.
  let at = 0;
  const locationOf = ({ raw }: Token) => {
    const found = text.indexOf(raw, at);
    if (found >= 0) at = found;
    return `${path}:${text.slice(0, at).split('\n').length}`;
  };
  walkTokens(lexer(text), (token) => {
    if (token.type === 'code' && token.codeBlockStyle !== 'indented') {
      const [language = ''] = (token.lang ?? '').split(/\s/);
      blocks.push({ location: locationOf(token), page: path, language, text: token.text });
    } else if (token.type === 'link' || token.type === 'image') {
      links.push({ location: locationOf(token), page: path, href: token.href });
    } else if (token.type === 'codespan' && /^(gen3d|npm run) /.test(token.text)) {
      commands.push({ location: locationOf(token), text: token.text });
    } else if (token.type === 'heading') {
      anchors.add(slugger.slug(token.text));
    } else if (token.type === 'html') {
      for (const [, id] of token.raw.matchAll(/\b(?:id|name)="([^"]+)"/g)) if (id) anchors.add(id);
    }
  });
  return { path, blocks, links, commands, anchors };
}

/** The target of a link within the repository, relative to its root. Undefined for a link to another host. */
export function targetOf({ page, href }: Link): { path: string; anchor: string } | undefined {
  if (/^[a-z][a-z0-9+.-]*:/i.test(href)) return undefined;
  const [path = '', anchor = ''] = decodeURI(href).split('#');
  return { path: path === '' ? page : posix.normalize(posix.join(dirname(page), path)), anchor };
}

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
