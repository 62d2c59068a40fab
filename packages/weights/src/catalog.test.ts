import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { Catalog } from './catalog.js';
import { cpuMemory } from './fitting-bundles.js';

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

test('8 bits take less memory on a CPU, and half precision takes as much as full precision', () => {
  const skeleton = { memory: { fp32: 3e9, int8: 2e9 } };
  expect((['fp32', 'fp16', 'int8'] as const).map((precision) => cpuMemory(skeleton, precision))).toEqual([
    3e9, 3e9, 2e9,
  ]);
  expect(cpuMemory({ memory: { fp32: 3e9 } }, 'int8')).toBe(3e9);
});
