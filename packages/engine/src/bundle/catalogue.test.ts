import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { Catalogue } from './catalogue.js';

test('the shipped catalogue is valid and names an https address for every file', async () => {
  const text = await readFile(new URL('../../../../models/catalogue.json', import.meta.url), 'utf8');
  const catalogue = Catalogue.parse(JSON.parse(text));
  expect(catalogue.bundles.map(({ manifest }) => manifest.name)).toContain('u2net');
  for (const { urls } of catalogue.bundles) for (const url of Object.values(urls)) expect(url).toMatch(/^https:/);
});

test('a bundle one of whose files has no address is refused', async () => {
  const text = await readFile(new URL('../../../../models/catalogue.json', import.meta.url), 'utf8');
  const catalogue = JSON.parse(text) as Catalogue;
  catalogue.bundles[0]!.urls = {};
  expect(Catalogue.safeParse(catalogue).success).toBe(false);
});
