import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import GithubSlugger from 'github-slugger';
import { lexer, type Token, walkTokens } from 'marked';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** A fenced block of code. */
export interface Block {
  /** `README.md:41`, as an editor opens it. */
  readonly place: string;
  readonly page: string;
  readonly language: string;
  readonly text: string;
}

export interface Link {
  readonly place: string;
  readonly page: string;
  readonly href: string;
}

export interface Page {
  /** From the root of the repository, with slashes. */
  readonly path: string;
  readonly blocks: readonly Block[];
  readonly links: readonly Link[];
  /** `gen3d list`, as it stands in the text. */
  readonly commands: ReadonlyArray<{ readonly place: string; readonly text: string }>;
  /** What a link may name behind its #. */
  readonly anchors: ReadonlySet<string>;
}

/** Those that people read; what other projects wrote (licences, notices) is not ours to check. */
const read =
  /^(README|CONTRIBUTING|docs\/.+|packages\/[^/]+\/README|models\/[^/]+\/README|examples\/(.+\/)?README)\.md$/;

/** Every page that git knows, or would after the next `git add`. */
export function pages(): Page[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
    cwd: root,
    encoding: 'utf8',
  });
  const paths = [...new Set(listed.split('\n'))].filter((path) => read.test(path) && existsSync(join(root, path)));
  return paths.sort().map((path) => parsePage(path, readFileSync(join(root, path), 'utf8')));
}

export function parsePage(path: string, text: string): Page {
  const blocks: Block[] = [];
  const links: Link[] = [];
  const commands: Array<{ place: string; text: string }> = [];
  const slugger = new GithubSlugger();
  const anchors = new Set<string>();
  // Tokens know no line. They come in the order of the text, so each is looked for behind the one before.
  let at = 0;
  const placeOf = ({ raw }: Token) => {
    const found = text.indexOf(raw, at);
    if (found >= 0) at = found;
    return `${path}:${text.slice(0, at).split('\n').length}`;
  };
  walkTokens(lexer(text), (token) => {
    if (token.type === 'code' && token.codeBlockStyle !== 'indented') {
      const [language = ''] = (token.lang ?? '').split(/\s/);
      blocks.push({ place: placeOf(token), page: path, language, text: token.text });
    } else if (token.type === 'link' || token.type === 'image') {
      links.push({ place: placeOf(token), page: path, href: token.href });
    } else if (token.type === 'codespan' && /^(gen3d|npm run) /.test(token.text)) {
      commands.push({ place: placeOf(token), text: token.text });
    } else if (token.type === 'heading') {
      anchors.add(slugger.slug(token.text));
    } else if (token.type === 'html') {
      for (const [, id] of token.raw.matchAll(/\b(?:id|name)="([^"]+)"/g)) if (id) anchors.add(id);
    }
  });
  return { path, blocks, links, commands, anchors };
}

/** Where a link within the repository leads, from its root; undefined if it leads out of it. */
export function targetOf({ page, href }: Link): { path: string; anchor: string } | undefined {
  if (/^[a-z][a-z0-9+.-]*:/i.test(href)) return undefined;
  const [path = '', anchor = ''] = decodeURI(href).split('#');
  return { path: path === '' ? page : posix.normalize(posix.join(dirname(page), path)), anchor };
}
