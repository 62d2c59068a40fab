import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { lexer, type Tokens } from 'marked';
import { expect, test } from 'vitest';
import { exitCode } from '../../packages/cli/src/exit/failure.js';
import { ErrorCode, TaskErrorCode } from '../../packages/schema/src/errors.js';
import * as sdk from '../../packages/sdk/src/index.js';
import { root } from './markdown.js';

/** The literals of a union without its `string`, which allows codes of newer servers. */
type Known<Code> = Code extends string ? (string extends Code ? never : Code) : never;

/** The codes that the SDK adds to those of the API. TypeScript rejects a missing one and an unknown one. */
const ownCodes = {
  forbidden: true,
  rate_limited: true,
  connection_failed: true,
  redirected: true,
  timeout: true,
  invalid_response: true,
  job_failed: true,
  wait_timeout: true,
  webhook_unverified: true,
} satisfies Record<Exclude<Known<sdk.Gen3dErrorCode>, ErrorCode>, true>;

const page = lexer(readFileSync(join(root, 'docs/errors.md'), 'utf8'));

/** The tables of a section, as rows of cells in Markdown. */
function tablesBelow(heading: string): string[][][] {
  const start = page.findIndex((token) => token.type === 'heading' && token.text === heading);
  const rest = page.slice(start + 1);
  const end = rest.findIndex((token) => token.type === 'heading');
  const section = end < 0 ? rest : rest.slice(0, end);
  const tables = section.filter((token): token is Tokens.Table => token.type === 'table');
  return tables.map(({ rows }) => rows.map((row) => row.map(({ text }) => text)));
}

const codesIn = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
const columnOf = (heading: string, column = 0) => tablesBelow(heading)[0]?.map((row) => row[column]) ?? [];
const unique = (names: readonly string[]) => [...new Set(names)].sort();

test('docs/errors.md has exactly the codes of refused requests', () => {
  expect(unique(columnOf('HTTP responses').flatMap(codesIn))).toEqual(unique(ErrorCode.options));
});

test('docs/errors.md has exactly the codes of failed jobs', () => {
  expect(unique(columnOf('Failed jobs').flatMap(codesIn))).toEqual(unique(TaskErrorCode.options));
});

test("docs/errors.md has exactly the codes and classes of the SDK's errors", () => {
  expect(unique(columnOf("The SDK's codes").flatMap(codesIn))).toEqual(
    unique([...ErrorCode.options, ...Object.keys(ownCodes)]),
  );

  const classes = Object.values(sdk).filter(
    (value) => typeof value === 'function' && value.prototype instanceof sdk.Gen3dError,
  ) as Array<{ name: string }>;
  expect(unique(columnOf("The SDK's codes", 1).flatMap(codesIn))).toEqual(unique(classes.map(({ name }) => name)));
});

test('docs/errors.md has exactly the exit codes of the command line', () => {
  const documented = columnOf('Exit codes of the command line').map(Number);
  expect(documented).toEqual(Object.values(exitCode));
});
