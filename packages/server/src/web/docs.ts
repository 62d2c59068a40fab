import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { escapeHtml } from '@gen3d/schema';
import { openApiDocument } from '@gen3d/schema/openapi';
import express, { type RequestHandler, Router } from 'express';
import type { Config } from '../config.js';

/** Restricts the pages: they have no scripts, one form, and load only this server's style sheet and pictures. */
const contentSecurityPolicy =
  "default-src 'none'; img-src 'self'; style-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/** The examples in docs/ use this address. */
const exampleAddress = 'http://127.0.0.1:8787';

/** A heading of the documentation and the text below it. */
interface Section {
  url: string;
  page: string;
  heading: string;
  text: string;
}

interface SearchedSection extends Section {
  /** The heading and the text, converted once because a search reads all of them. */
  lowerCase: string;
}

const maxQueryLength = 100;
const maxWords = 8;
const maxResults = 30;
/** Characters before and after the word that was found. */
const excerpt = { before: 60, after: 160 };

/** Finds the pages by their package's name, as the dashboard's. Undefined if they are not built. */
function docsFolder(): string | undefined {
  try {
    return join(dirname(createRequire(import.meta.url).resolve('@gen3d/server/dashboard')), 'docs');
  } catch {
    return undefined;
  }
}

/**
 * Serves the documentation for users of this server: the API at `/docs`, the other pages below it. It needs no key,
 * because it contains no data of this server. Its examples name the address at which the reader reached the server.
 * `/docs/search` searches all pages.
 */
export function docs({ publicUrl }: Pick<Config, 'publicUrl'>): Router {
  const router = Router();
  const folder = docsFolder();
  if (folder === undefined) return router;
  router.use((_request, response, next) => {
    response.set({ 'content-security-policy': contentSecurityPolicy, 'cache-control': 'no-cache' });
    next();
  });
  const pages = new Map(
    readdirSync(folder)
      .filter((file) => file.endsWith('.html'))
      .map((file) => [file.slice(0, -'.html'.length), readFileSync(join(folder, file), 'utf8')]),
  );
  const sections = (JSON.parse(readFileSync(join(folder, 'sections.json'), 'utf8')) as Section[]).map((section) => ({
    ...section,
    lowerCase: `${section.heading} ${section.text}`.toLowerCase(),
  }));
  router.get(['/', '/:page'], ({ path, query, protocol, headers: { host } }, response, next) => {
    const name = path.slice(1) || 'api';
    const template = pages.get(name);
    if (template === undefined) return next();
    const page = name === 'search' ? template.replace('<!-- results -->', () => results(sections, query.q)) : template;
    const address = publicUrl ?? `${protocol}://${host}`;
    // The host of a valid URL may contain quotes, and also $', which `replaceAll` would replace with a copy of the
    // page if a function did not return the host.
    const origin = escapeHtml(new URL(URL.canParse(address) ? address : exampleAddress).origin);
    response.type('html').send(page.replaceAll(exampleAddress, () => origin));
  });
  router.use(express.static(folder, { index: false, redirect: false, cacheControl: false }));
  return router;
}

/** Lists the sections that contain every word of the query, as HTML. Those with a word in their heading come first. */
function results(sections: readonly SearchedSection[], query: unknown): string {
  const asked = typeof query === 'string' ? query.slice(0, maxQueryLength).trim() : '';
  const words = [...new Set(asked.toLowerCase().split(/\s+/).filter(Boolean))].slice(0, maxWords);
  const found =
    words.length === 0 ? [] : sections.filter(({ lowerCase }) => words.every((word) => lowerCase.includes(word)));
  if (found.length === 0)
    return `<p>${asked ? `Nothing was found for “${escapeHtml(asked)}”.` : 'Enter a word to search for.'}</p>`;
  const inHeading = ({ heading }: Section) => Number(words.some((word) => heading.toLowerCase().includes(word)));
  const shown = found.sort((a, b) => inHeading(b) - inHeading(a)).slice(0, maxResults);
  const rows = shown.map(({ url, page, heading, text }) => {
    const [title, where, found] = [heading, page, excerptOf(text, words)].map(escapeHtml);
    return `<li><a href="${url}">${title}</a> <span>${where}</span><p>${found}</p></li>`;
  });
  const more = found.length > shown.length ? `, of which these are ${shown.length}` : '';
  return `<p>Sections with “${escapeHtml(asked)}”: ${found.length}${more}</p>\n<ol class="results">\n${rows.join('\n')}\n</ol>`;
}

/** Returns the text around the first of the words that it contains, cut at spaces. */
function excerptOf(text: string, words: readonly string[]): string {
  const lowerCase = text.toLowerCase();
  const places = words.map((word) => lowerCase.indexOf(word)).filter((place) => place >= 0);
  const at = places.length > 0 ? Math.min(...places) : 0;
  const start = at <= excerpt.before ? 0 : text.lastIndexOf(' ', at - excerpt.before) + 1;
  const end = text.indexOf(' ', at + excerpt.after);
  return `${start > 0 ? '… ' : ''}${end < 0 ? text.slice(start) : `${text.slice(start, end)} …`}`;
}

/** Serves the OpenAPI document. It needs no key and allows every origin, so that documentation viewers can load it. */
export function openApi(): RequestHandler {
  const document = JSON.stringify(openApiDocument());
  return (_request, response) => {
    response
      .set({ 'access-control-allow-origin': '*', 'cross-origin-resource-policy': 'cross-origin' })
      .type('json')
      .send(document);
  };
}
