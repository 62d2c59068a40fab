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
