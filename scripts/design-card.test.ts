import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from './repository.mjs';

// The parts of the design that others may join but none replaces: see "Tools" in docs/decisions.md.

const packages = readdirSync(join(root, 'packages')).map((name) => join(root, 'packages', name));

/** The files of all packages in a folder, such as `src`. */
const filesIn = (folder: string): string[] =>
  packages
    .map((path) => join(path, folder))
    .filter((path) => existsSync(path))
    .flatMap((path) => readdirSync(path, { recursive: true, encoding: 'utf8' }).map((file) => join(path, file)));

const isTest = (file: string) => /\.(test|fixture)\.tsx?$/.test(file);
const product = filesIn('src').filter((file) => /\.tsx?$/.test(file) && !isTest(file));
const tests = filesIn('test').filter((file) => file.endsWith('.ts'));
const builds = packages.map((path) => join(path, 'tsup.config.ts')).filter((file) => existsSync(file));

const imports = (files: string[], name: string) =>
  files.some((file) => new RegExp(`(from|import\\() ?'${name}(/[^']*)?'`).test(readFileSync(file, 'utf8')));

test.each([
  'commander',
  'ky',
  'zod',
  'ulid',
  'better-sqlite3',
  'express',
  'onnxruntime-node',
  'sharp',
  '@gltf-transform/core',
  'ora',
])('the product imports %s', (name) => {
  expect(imports(product, name)).toBe(true);
});

test.each([
  ['tsup', builds],
  ['vitest', tests],
  ['msw', tests],
])('%s builds or tests the packages', (name, files) => {
  expect(imports(files, name)).toBe(true);
});

test.each([
  'packages',
  'examples',
  'models',
  'scripts',
  'pnpm-workspace.yaml',
  'package.json',
  'tsconfig.base.json',
  'README.md',
])('%s is at the top of the repository', (name) => {
  expect(existsSync(join(root, name))).toBe(true);
});

test('every tsconfig stands on tsconfig.base.json', () => {
  for (const folder of [root, join(root, 'scripts'), ...packages]) {
    const text = readFileSync(join(folder, 'tsconfig.json'), 'utf8');
    expect(text, folder).toMatch(/"extends": "[./]+\/tsconfig\.base\.json"/);
  }
});
