// `npm run lint` runs this: compares the lines of each part with the table in docs/scope.md, and prints what each part
// has. Counts lines of TypeScript, JavaScript and CSS in files that Git knows, blank lines and comments included.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './repository.mjs';

const maxColumns = 120;
const isTest = (/** @type {string} */ path) => /\.(test|fixture)\.|^packages\/[^/]+\/test\//.test(path);

/** @param {string} path @returns {string | undefined} the row of the table that counts the file */
function partOf(path) {
  if (!/\.(ts|tsx|css|mjs|cjs)$/.test(path)) return undefined;
  if (isTest(path)) return 'tests';
  if (path.startsWith('scripts/')) return 'scripts';
  return path.match(/^packages\/([^/]+)\/src\//)?.[1];
}

/** @type {Record<string, { lines: number, wide: number }>} */
const counted = {};
const files = execFileSync('git', ['ls-files', 'packages', 'scripts'], { cwd: root, encoding: 'utf8' }).trim();
for (const path of files.split('\n')) {
  const part = partOf(path);
  if (!part) continue;
  const lines = readFileSync(join(root, path), 'utf8').trimEnd().split('\n');
  counted[part] ??= { lines: 0, wide: 0 };
  const sum = counted[part];
  sum.lines += lines.length;
  sum.wide += lines.filter((line) => line.length > maxColumns).length;
}
const product = Object.entries(counted).filter(([part]) => part !== 'tests' && part !== 'scripts');
counted.product = {
  lines: product.reduce((total, [, { lines }]) => total + lines, 0),
  wide: product.reduce((total, [, { wide }]) => total + wide, 0),
};

const rows = readFileSync(join(root, 'docs/scope.md'), 'utf8').matchAll(/^\| (\w+) \| ([\d,]+) \| ([\d,]+) \|$/gm);
const budget = new Map([...rows].map(([, part, ...limits]) => [part, limits.map((n) => Number(n.replace(',', '')))]));
for (const [part, { lines, wide }] of Object.entries(counted)) {
  const [maxLines = 0, maxWide = 0] = budget.get(part) ?? [];
  const isOver = lines > maxLines || wide > maxWide;
  console.log(
    `${part}: ${lines} of ${maxLines} lines, ${wide} of ${maxWide} wide${isOver ? '   over the budget' : ''}`,
  );
  if (isOver) process.exitCode = 1;
}
if (process.exitCode) {
  console.error('Take lines out, or raise the table in docs/scope.md in a commit that names what users get for them.');
}
