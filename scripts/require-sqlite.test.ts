import { expect, test } from 'vitest';
import { requireSqlite } from './require-sqlite.mjs';

const missing = () => {
  throw new Error('Could not locate the bindings file');
};

test('an addon that was not compiled is reported with what it needs, unless Node has a SQLite of its own', () => {
  expect(() => requireSqlite('20.20.2', missing)).toThrow(/needs a C\+\+ compiler.*Node 22\.16/);
  expect(() => requireSqlite('22.15.1', missing)).toThrow(/Node 22\.16/);
  requireSqlite('22.16.0', missing);
  requireSqlite('24.0.0', missing);
});

test('the addon of this installation is found', () => {
  requireSqlite('20.19.0');
});
