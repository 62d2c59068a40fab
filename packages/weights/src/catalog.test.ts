import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { Catalog } from './catalog.js';

test('the shipped catalog is valid and has an https URL for every file', async () => {
  const text = await readFile(new URL('../../../models/catalog.json', import.meta.url), 'utf8');
  const catalog = Catalog.parse(JSON.parse(text));
  expect(catalog.bundles.map(({ manifest }) => manifest.name)).toContain('u2net');
  for (const { urls } of catalog.bundles) for (const url of Object.values(urls)) expect(url).toMatch(/^https:/);
});

test('a bundle with a file without a URL is invalid', async () => {
  const text = await readFile(new URL('../../../models/catalog.json', import.meta.url), 'utf8');
  const catalog = JSON.parse(text) as Catalog;
  catalog.bundles[0]!.urls = {};
  expect(Catalog.safeParse(catalog).success).toBe(false);
});
