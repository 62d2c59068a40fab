// Renders the Markdown in docs/ as the pages that the server serves below /docs, plain HTML without scripts.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import GithubSlugger from 'github-slugger';
import { Marked, Renderer } from 'marked';

/** Pages for users of a server, not for its operators or developers. Each is at /docs/NAME, the first at /docs. */
const names = [
  'api',
  'getting-started',
  'contract',
  'job-list',
  'errors',
  'webhooks',
  'sdk',
  'cli',
  'printing',
  'web-and-engines',
  'configuration',
];

const sources = new URL('../../docs/', import.meta.url);
const target = new URL('dist/docs/', import.meta.url);

const markdownOf = (name) => readFileSync(new URL(`${name}.md`, sources), 'utf8');
const titleOf = (name) => /^# (.+)$/m.exec(markdownOf(name))?.[1] ?? name;

const urlOf = (name) => (name === names[0] ? '/docs' : `/docs/${name}`);

/** The server's URL for a link in the Markdown. Undefined for files that only the repository has. */
function servedUrl(href) {
  if (/^(https?:|#)/.test(href)) return href;
  const [path, anchor] = href.split('#');
  if (path === 'openapi.json') return '/openapi.json';
  const name = path.replace(/\.md$/, '');
  return names.includes(name) ? urlOf(name) + (anchor ? `#${anchor}` : '') : undefined;
}

class Page extends Renderer {
  slugger = new GithubSlugger();
  contents = [];
  section = '';
  tableCount = 0;

  heading(token) {
    const text = this.parser.parseInline(token.tokens);
    const plain = this.parser.parseInline(token.tokens, this.parser.textRenderer);
    const id = this.slugger.slug(token.text);
    if (token.depth === 2) this.contents.push({ id, plain });
    this.section = plain;
    return `<h${token.depth} id="${id}"><a href="#${id}">${text}</a></h${token.depth}>\n`;
  }

  link(token) {
    const href = servedUrl(token.href);
    if (href === undefined) return this.parser.parseInline(token.tokens);
    // Replace file names with the titles of the pages.
    const [, name] = /^(\w+)\.md$/.exec(token.text) ?? [];
    return name ? `<a href="${href}">${titleOf(name)}</a>` : super.link({ ...token, href });
  }

  // Wide tables and code scroll; the tabindex lets the keyboard scroll them.
  table(token) {
    // Regions need unique names.
    const name = `Table ${++this.tableCount}: ${this.section.replaceAll('"', '&quot;')}`;
    return `<div class="wide" tabindex="0" role="region" aria-label="${name}">${super.table(token)}</div>\n`;
  }

  code(token) {
    return super.code(token).replace('<pre>', '<pre tabindex="0">');
  }

  image(token) {
    cpSync(new URL(token.href, sources), new URL(token.href, target));
    return super.image({ ...token, href: `/docs/${token.href}` });
  }

  // Drops the comment that names a page's source.
  html() {
    return '';
  }
}

function render(name) {
  const page = new Page();
  const body = new Marked().parse(markdownOf(name), { renderer: page });
  return { name, title: titleOf(name), contents: page.contents, body };
}

/** As in the dashboard's header. */
const logo = `<svg class="logo" viewBox="0 0 32 32" aria-hidden="true">
<path class="logo-side" d="M16 2 28 9v14l-12 7L4 23V9z"/>
<path class="logo-right" d="m16 16 12-7v14l-12 7z"/>
<path class="logo-top" d="M16 2 28 9l-12 7L4 9z"/>
</svg>`;

const linkTo = ({ name, title }, current) =>
  `<a href="${urlOf(name)}"${name === current ? ' aria-current="page"' : ''}>${title}</a>`;

const html = ({ name, title, contents, body }, pages) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${title} · gen3d</title>
<link rel="stylesheet" href="/docs/docs.css">
</head>
<body>
<header class="top">
<a class="brand" href="/" aria-label="gen3d, models">${logo}<span>gen3d</span></a>
<nav aria-label="Pages">${pages.map((page) => linkTo(page, name)).join('\n')}</nav>
<a class="button" href="/">Dashboard</a>
</header>
<div class="columns">
<nav class="contents" aria-label="On this page">${contents.map(({ id, plain }) => `<a href="#${id}">${plain}</a>`).join('\n')}</nav>
<main>
${body}</main>
</div>
</body>
</html>
`;

mkdirSync(target, { recursive: true });
const pages = names.map(render);
for (const page of pages) writeFileSync(new URL(`${page.name}.html`, target), html(page, pages));
const styles = ['base.css', 'docs.css'].map((name) => readFileSync(new URL(`src/${name}`, import.meta.url), 'utf8'));
writeFileSync(new URL('docs.css', target), styles.join('\n'));
