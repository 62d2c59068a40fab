import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { newUlid } from '../../base/ids.js';
import { KeyRing } from '../../base/server-key.js';
import { Cursors } from './cursors.js';

const cursors = new Cursors(new KeyRing([randomBytes(32)]));
const jobId = newUlid();
const cursor = cursors.issue('account', jobId);
const refused = 'not issued by this service';

test('a cursor is base64url and contains the id of its job, and the label if there is one', async () => {
  expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
  expect(await cursors.read('account', cursor)).toEqual({ id: jobId, label: '' });
  const byName = cursors.issue('account', jobId, 'täßchen 茶');
  expect(await cursors.read('account', byName)).toEqual({ id: jobId, label: 'täßchen 茶' });
  expect(await cursors.read('account', undefined)).toBeUndefined();
});

test('a cursor is invalid for another account or another server', async () => {
  await expect(cursors.read('another account', cursor)).rejects.toThrow(refused);
  await expect(new Cursors(new KeyRing([randomBytes(32)])).read('account', cursor)).rejects.toThrow(refused);
});

test('a cursor with a character changed, added or removed is refused', async () => {
  for (let i = 0; i < cursor.length; i++) {
    const other = cursor[i] === 'A' ? 'B' : 'A';
    const changed = cursor.slice(0, i) + other + cursor.slice(i + 1);
    await expect(cursors.read('account', changed)).rejects.toThrow(refused);
  }
  for (const text of ['', 'x', `${cursor}A`, `${cursor}=`, `${cursor} `, cursor.slice(1), cursor.slice(0, -1)]) {
    await expect(cursors.read('account', text)).rejects.toThrow(refused);
  }
});
