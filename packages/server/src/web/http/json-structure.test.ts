import { describe, expect, test } from 'vitest';
import { checkJsonStructure } from './json-structure.js';

const check = (json: string) => () => checkJsonStructure(Buffer.from(json));
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

describe('the structure of a body', () => {
  test('may be up to 100 levels deep', () => {
    expect(check(nested(100))).not.toThrow();
    expect(check(nested(101))).toThrow('body: nested deeper than 100 levels');
    expect(check(`${'{"a":'.repeat(101)}1`)).toThrow('nested');
  });

  test('may have up to 10,000 values of any type', () => {
    const list = (value: string, times: number) => `[${Array(times).fill(value).join(',')}]`;
    expect(check(list('1', 9_000))).not.toThrow();
    for (const value of ['1', '""', '{}', '[]']) expect(check(list(value, 10_001))).toThrow('more than 10,000 values');
    expect(check(`{${Array.from({ length: 6_000 }, (_, i) => `"${i}":1`).join(',')}}`)).toThrow('values');
  });

  test('does not include the content of strings, whatever their escapes', () => {
    const brackets = '[{,:'.repeat(20_000);
    for (const text of [brackets, `"${brackets}`, `\\${brackets}`, `\\"${brackets}\\`, `${brackets}"`]) {
      expect(check(JSON.stringify({ text, after: [1] }))).not.toThrow();
    }
  });

  test('includes everything after a string, whatever its escapes', () => {
    for (const text of ['\\', '\\\\', '"', '\\"', 'a\\"\\']) {
      expect(check(`[${JSON.stringify(text)},${nested(200)}]`)).toThrow('nested');
    }
  });
});
