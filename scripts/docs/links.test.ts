import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pages, parsePage, root, targetOf } from './markdown.js';

const all = pages();
const byPath = new Map(all.map((page) => [page.path, page]));

const broken = (page: ReturnType<typeof parsePage>) =>
  page.links.flatMap((link) => {
    const target = targetOf(link);
    if (!target) return /^(https?|mailto):/.test(link.href) ? [] : [`${link.location} ${link.href}: an unknown scheme`];
    if (target.path.startsWith('..')) return [`${link.location} ${link.href} points outside the repository`];
    if (target.path !== page.path && !existsSync(join(root, target.path)))
      return [`${link.location} ${link.href}: there is no ${target.path}`];
    const anchors = byPath.get(target.path)?.anchors ?? (target.path === page.path ? page.anchors : undefined);
    if (target.anchor && anchors && !anchors.has(target.anchor)) {
      return [`${link.location} ${link.href}: ${target.path} has no heading #${target.anchor}`];
    }
    return [];
  });

test('every link and image within the repository exists, including its heading', () => {
  expect(all.length).toBeGreaterThan(10);
  expect(all.flatMap(broken)).toEqual([]);
});

test('a link to a missing file or heading is detected', () => {
  const page = parsePage(
    'docs/made-up.md',
    '# One\n\n[a](gone.md) [b](#two) [c](#one) ![d](cli.md) [e](errors.md#nothing)',
  );
  expect(broken(page).map((text) => text.replace(/^\S+ /, ''))).toEqual([
    'gone.md: there is no docs/gone.md',
    '#two: docs/made-up.md has no heading #two',
    'errors.md#nothing: docs/errors.md has no heading #nothing',
  ]);
});

test('docs/README.md links to every page of docs, directly or through the index of a folder', () => {
  const indexes = all.filter(({ path }) => /^docs\/(.+\/)?README\.md$/.test(path));
  const reached = new Set(indexes.flatMap(({ links }) => links.map((link) => targetOf(link)?.path)));
  const missing = all.filter(({ path }) => path.startsWith('docs/') && path !== 'docs/README.md' && !reached.has(path));
  expect(
    missing.map(({ path }) => path),
    'name them in docs/README.md or docs/operations/README.md',
  ).toEqual([]);
});

test('every file and folder that docs/architecture.md names exists', () => {
  const text = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
  // From the root, or shortened: the end of a file's path, or a folder in one.
  const named = text.matchAll(
    /`((?:docs|models|packages|scripts)\/[\w./-]+|[a-z\d./-]+(?:\/|\.(?:[cm]js|tsx?|json)))`/g,
  );
  const paths = [...named].map(([, path = '']) => path.replace(/\/$/, ''));
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: root });
  const existing = `/${files.toString().trim().replaceAll('\n', '/\n/')}/`;
  expect(paths.length).toBeGreaterThan(100);
  expect(paths.filter((path) => !existing.includes(`/${path}/`))).toEqual([]);
});
