import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const here = fileURLToPath(new URL('.', import.meta.url));
const docs = new URL('../../../../docs/', import.meta.url);

/** The tests that docs/contract.md names: `[file](path): `name``. */
function namedInTable(): { path: string; name: string }[] {
  const table = readFileSync(new URL('contract.md', docs), 'utf8');
  return [...table.matchAll(/\]\(([^)]+\.test\.ts)\): `([^`]+)`/g)].map(([, path = '', name = '']) => ({
    path: fileURLToPath(new URL(path, docs)),
    name,
  }));
}

/** The names of a file's tests, as its source writes them: a string before a function, unless it names a describe. */
function testsIn(path: string): string[] {
  const source = readFileSync(path, 'utf8');
  const named = /(?<!describe|describe\.concurrent)\(\s*'((?:[^'\\]|\\.)*)',\s*(?:async )?\(/g;
  return [...source.matchAll(named)].map(([, name = '']) =>
    name.replace(/\\u([0-9a-f]{4})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16))),
  );
}

test('every test that docs/contract.md names exists', () => {
  const named = namedInTable();
  expect(named.length).toBeGreaterThan(100);
  expect(named.filter(({ path, name }) => !testsIn(path).includes(name))).toEqual([]);
});

test('every test of the contract is named in docs/contract.md', () => {
  const named = namedInTable().map(({ path, name }) => `${basename(path)}: ${name}`);
  const files = readdirSync(here).filter((name) => name.endsWith('.test.ts') && name !== basename(import.meta.url));
  const all = files.flatMap((file) => testsIn(here + file).map((name) => `${file}: ${name}`));
  expect(all.length).toBeGreaterThan(90);
  expect(all.filter((name) => !named.includes(name))).toEqual([]);
});
