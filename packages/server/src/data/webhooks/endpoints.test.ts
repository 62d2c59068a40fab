import { expect, test } from 'vitest';
import { newAccount, temporaryDatabase } from '../../../test/kit.js';
import { KeyRing } from '../../base/key-ring.js';
import { deleteAccount } from '../accounts/accounts.js';
import { transaction } from '../db/transaction.js';
import { Endpoints } from './endpoints.js';
import { SecretBox } from './secret-box.js';

test('an account that is deleted while it sets an endpoint has none', async () => {
  const db = await temporaryDatabase();
  const endpoints = new Endpoints(db, new SecretBox(new KeyRing([Buffer.alloc(32, 1)])));
  for (let i = 0; i < 10; i++) {
    const account = await newAccount(db, `account ${i}`);
    const put = () => endpoints.put(account, 'https://example.com/hook', 1);
    const remove = () => transaction(db, (trx) => deleteAccount(trx, account, 2));
    await Promise.allSettled(i % 2 ? [put(), remove()] : [remove(), put()]);
    await expect(put()).rejects.toThrow();
  }
  expect(await db.selectFrom('webhook_endpoints').selectAll().execute()).toEqual([]);
});
