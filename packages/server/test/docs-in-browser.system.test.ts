import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launchChromium } from '../../../scripts/chromium.mjs';
import { documentationPages as pages, startServer, type TestServer } from './kit.js';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let browser: Browser;
let server: TestServer;
const atEnd: Array<() => void | Promise<void>> = [];
beforeAll(async () => {
  server = await startServer({}, { atEnd: (end) => atEnd.push(end) });
  browser = await launchChromium();
});
afterAll(async () => {
  await browser?.close();
  for (const end of atEnd.reverse()) await end();
});

test('every page is styled, fits every screen, and keeps to its Content-Security-Policy', async () => {
  const page = await browser.newPage();
  const errors: string[] = [];
  page.on('console', (message) => void (message.type() === 'error' && errors.push(message.text())));
  for (const path of pages) {
    await page.goto(server.url + path);
    expect(await page.evaluate<string>('getComputedStyle(document.querySelector("header")).display')).toBe('flex');
    for (const width of [320, 390, 768, 1440]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await page.evaluate<number>('document.documentElement.scrollWidth'), path).toBeLessThanOrEqual(width);
    }
  }
  expect(errors).toEqual([]);
  await page.close();
});

test('the landmarks of every page have different names', async () => {
  const page = await browser.newPage();
  for (const path of pages) {
    await page.goto(server.url + path);
    await page.evaluate(axe);
    const result = await page.evaluate<string[]>(`axe.run({ runOnly: ['landmark-unique'] })
      .then(({ violations }) => violations.flatMap(({ nodes }) => nodes.map(({ target }) => target.join(' '))))`);
    expect(result, path).toEqual([]);
  }
  await page.close();
});

// All pages have one template, and these two have every kind of content.
test.each([
  ['/docs/webhooks', 'light'],
  ['/docs/errors', 'dark'],
] as const)('axe finds nothing serious in %s, %s', async (path, colorScheme) => {
  const page = await browser.newPage({ colorScheme });
  await page.goto(server.url + path);
  await page.evaluate(axe);
  const violations = await page.evaluate<string[]>(`axe.run().then(({ violations }) => violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ': ' + target.join(' '))))`);
  expect(violations).toEqual([]);
  await page.close();
});
