import { expect, test } from 'vitest';
import { failureOf } from '../src/exit/failure.js';

test.each([
  ['SQLITE_FULL', 'database or disk is full'],
  ['SQLITE_READONLY_DBMOVED', 'attempt to write a readonly database'],
  ['SQLITE_CORRUPT', 'database disk image is malformed'],
  ['53100', 'could not extend file "base/5/1"'],
])('a failure with %s is not reported as a bug, and the message says what to do', (code, cause) => {
  const { exitCode, message } = failureOf(Object.assign(new Error(cause), { code }));
  expect(exitCode).toBe(1);
  expect(message).toMatch(/^Cannot use the database: /);
  expect(message).toContain(`${cause}. `);
  expect(message).toContain('Check that the disk');
  expect(message).not.toContain('bug');
});

test.each(['DatabaseLockedError', 'DatabaseUnavailableError', 'StorageUnavailableError'])(
  'a %s is reported with its message alone',
  (name) => {
    const message = 'No connection to PostgreSQL: connect ECONNREFUSED';
    expect(failureOf(Object.assign(new Error(message), { name }))).toEqual({ exitCode: 1, message });
  },
);

test('a statement that fails for any other reason is reported as a bug', () => {
  const error = Object.assign(new Error('no such column: balance'), { code: 'SQLITE_ERROR' });
  expect(failureOf(error).message).toMatch(/^Unexpected error\. This is a bug in gen3d:\n/);
});
