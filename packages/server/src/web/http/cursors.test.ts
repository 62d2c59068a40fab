import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { newUlid } from '../../base/ids.js';
import { Cursors } from './cursors.js';

const cursors = new Cursors(randomBytes(32));
const jobId = newUlid();
const cursor = cursors.issue('account', jobId);

test('a cursor is base64url and contains the id of its job', () => {
  expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
  expect(cursors.read('account', cursor)).toBe(jobId);
});

test('a cursor is invalid for another account or another server', () => {
  expect(cursors.read('another account', cursor)).toBeUndefined();
  expect(new Cursors(randomBytes(32)).read('account', cursor)).toBeUndefined();
});

test('a cursor with a character changed, added or removed is refused', () => {
  for (let i = 0; i < cursor.length; i++) {
    const other = cursor[i] === 'A' ? 'B' : 'A';
    expect(cursors.read('account', cursor.slice(0, i) + other + cursor.slice(i + 1))).toBeUndefined();
  }
  for (const text of ['', 'x', `${cursor}A`, `${cursor}=`, `${cursor} `, cursor.slice(1), cursor.slice(0, -1)]) {
    expect(cursors.read('account', text)).toBeUndefined();
  }
});
