import { once } from 'node:events';
import { get } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { documentationPages as pages, startServer, type TestServer } from './kit.js';

let server: TestServer;
const atEnd: Array<() => void | Promise<void>> = [];
beforeAll(async () => {
  server = await startServer({}, { atEnd: (end) => atEnd.push(end) });
});
afterAll(async () => {
  for (const end of atEnd.reverse()) await end();
});

const read = async (path: string) => {
  const response = await fetch(server.url + path);
  return { status: response.status, headers: response.headers, text: await response.text() };
};

const linksIn = (html: string) => [...html.matchAll(/ (?:href|src)="([^"]+)"/g)].map(([, link = '']) => link);
const idsIn = (html: string) => new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));

test.each(pages)('%s needs no key, and may load only its style sheet and pictures', async (path) => {
  const { status, headers, text } = await read(path);
  expect(status).toBe(200);
  expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(headers.get('content-security-policy')).toBe(
    "default-src 'none'; img-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  );
  expect(text).not.toMatch(/<script|<style| style=| on\w+=/);
  expect(text.match(/<h1/g)).toHaveLength(1);
});

test('every link leads to a page and heading on this server, or to an https URL', async () => {
  const texts = new Map<string, string>();
  for (const path of pages) texts.set(path, (await read(path)).text);
  const broken: string[] = [];
  for (const [path, text] of texts) {
    for (const link of new Set(linksIn(text))) {
      if (/^https?:/.test(link)) continue;
      const [target = '', anchor] = link.split('#');
      const page = target === '' ? text : (texts.get(target) ?? '');
      const found = page !== '' || (await fetch(server.url + target, { headers: { accept: 'text/html' } })).ok;
      if (!found || (anchor && !idsIn(page).has(anchor))) broken.push(`${path}: ${link}`);
    }
  }
  expect(broken).toEqual([]);
});

test('the API page has every route and event of /openapi.json', async () => {
  const { text } = await read('/docs');
  const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
    paths: Record<string, object>;
    webhooks: object;
  };
  const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(routes.length).toBeGreaterThan(8);
  for (const heading of [...routes, ...Object.keys(document.webhooks)]) expect(text).toContain(`>${heading}</a></h`);
});

test('the examples name the address of this server', async () => {
  const { text } = await read('/docs');
  expect(text).toContain(`curl ${server.url}/v1/balance`);
  expect(text).not.toContain('127.0.0.1:8787');
});

test('an unknown page and another method get the 403 of all unknown routes', async () => {
  expect((await read('/docs/nothing')).status).toBe(403);
  expect((await fetch(`${server.url}/docs`, { method: 'POST' })).status).toBe(403);
});

/** Reads a page from a server that accepts every Host. */
async function readAs(host: string, path: string): Promise<string> {
  const { port } = await startServer({ host: '0.0.0.0' });
  const [response] = await once(get({ host: '127.0.0.1', port, path, headers: { host } }), 'response');
  let text = '';
  for await (const part of response.setEncoding('utf8')) text += part;
  expect(response.statusCode).toBe(200);
  return text;
}

test('no Host makes a page much larger', async () => {
  const text = await readAs("$'".repeat(100), '/docs');
  expect(text.length).toBeLessThan(2 * (await read('/docs')).text.length);
});

test('a Host with quotes does not add an attribute to a link', async () => {
  const text = await readAs('x"onmouseover="alert(1)', '/docs/sdk');
  expect(text).toContain('href="http://x&#34;onmouseover=&#34;alert(1)"');
});
