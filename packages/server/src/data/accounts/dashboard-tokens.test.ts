import { expect, test } from 'vitest';
import { newAccount, temporaryDatabase } from '../../../test/kit.js';
import { KeyRing } from '../../base/server-key.js';
import { transaction } from '../db/transaction.js';
import { deleteAccount } from './accounts.js';
import { ApiKeys } from './api-keys.js';
import { DashboardTokens } from './dashboard-tokens.js';
import { AccountDeletedError } from './quotas.js';

test('an account that is deleted while it signs in is deleted, and has no session', async () => {
  const db = await temporaryDatabase();
  const keyRing = new KeyRing([Buffer.alloc(32, 1)]);
  const [keys, tokens] = [new ApiKeys(keyRing), new DashboardTokens(db, keyRing)];
  for (let i = 0; i < 20; i++) {
    const account = await newAccount(db, `account ${i}`);
    const { keyId } = await transaction(db, (trx) => keys.create(trx, account, 1));
    const signIns = Array.from({ length: 4 }, () => tokens.issueSession(keyId));
    const deleted = transaction(db, (trx) => deleteAccount(trx, account, 2));
    const results = await Promise.allSettled([...signIns, tokens.issueSession(keyId)]);
    expect(await deleted).toBe(true);
    for (const result of results)
      if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(AccountDeletedError);
  }
  expect(await db.selectFrom('dashboard_tokens').selectAll().execute()).toEqual([]);
});
