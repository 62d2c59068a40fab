import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { newAccount, temporaryDatabase } from '../../../test/kit.js';
import { KeyRing } from '../../base/server-key.js';
import { deleteAccount } from '../accounts/accounts.js';
import { AccountDeletedError } from '../accounts/quotas.js';
import { transaction } from '../db/transaction.js';
import { Endpoints, SecretBox } from './endpoints.js';

test('an account that is deleted while it sets an endpoint has none', async () => {
  const db = await temporaryDatabase();
  const endpoints = new Endpoints(db, new SecretBox(new KeyRing([Buffer.alloc(32, 1)])));
  for (let i = 0; i < 10; i++) {
    const account = await newAccount(db, `account ${i}`);
    const put = () => endpoints.put(account, 'https://example.com/hook', 1);
    const remove = () => transaction(db, (trx) => deleteAccount(trx, account, 2));
    await Promise.allSettled(i % 2 ? [put(), remove()] : [remove(), put()]);
    await expect(put()).rejects.toThrow(AccountDeletedError);
  }
  expect(await db.selectFrom('webhook_endpoints').selectAll().execute()).toEqual([]);
});

test('an endpoint can be set while it is deleted', async () => {
  const db = await temporaryDatabase();
  const endpoints = new Endpoints(db, box);
  const account = await newAccount(db);
  for (let i = 0; i < 50; i++) {
    const put = () => endpoints.put(account, `https://example.com/${i}`, 1);
    await Promise.all([put(), endpoints.remove(account), put(), endpoints.remove(account)]);
  }
});

const box = new SecretBox(new KeyRing([randomBytes(32)]));
const sealed = await box.seal('whsec_secret', 'account');

test('a sealed secret opens for its account, and does not contain the secret', async () => {
  expect(await box.open(sealed, 'account')).toBe('whsec_secret');
  expect(sealed).not.toContain('secret');
  expect(await box.seal('whsec_secret', 'account')).not.toBe(sealed);
});

test('a sealed secret does not open for another account, under another key, or after a change', async () => {
  await expect(box.open(sealed, 'somebody else')).rejects.toThrow();
  await expect(new SecretBox(new KeyRing([randomBytes(32)])).open(sealed, 'account')).rejects.toThrow();
  const changed = sealed.slice(0, 10) + (sealed[10] === 'A' ? 'B' : 'A') + sealed.slice(11);
  await expect(box.open(changed, 'account')).rejects.toThrow();
});
