import { expect, test } from 'vitest';
import { newAccount, newJob, temporaryDatabase } from '../../../test/kit.js';
import { KeyRing } from '../../base/server-key.js';
import { dayMs } from '../../base/time.js';
import { transaction } from '../db/transaction.js';
import { deleteAccount } from './accounts.js';
import { ApiKeys, listKeys, revokeKey } from './api-keys.js';
import { DashboardTokens } from './dashboard-tokens.js';
import { AccountDeletedError, QuotaError, quotas } from './quotas.js';

const keyRing = new KeyRing([Buffer.alloc(32, 1)]);

test('an account has at most 100 API keys that work, and keeps as many revoked ones', async () => {
  const db = await temporaryDatabase();
  const keys = new ApiKeys(keyRing);
  const tokens = new DashboardTokens(db, keyRing);
  const [account, other] = [await newAccount(db), await newAccount(db, 'other')];
  const created: string[] = [];
  for (let i = 0; i < quotas.apiKeys; i++) created.push((await keys.create(db, account, i)).keyId);
  await expect(keys.create(db, account, 1_000)).rejects.toThrow(QuotaError);
  await keys.create(db, other, 1_000);

  // The oldest key has a session, whose row refers to it.
  const session = await tokens.issueSession(created[0]!);
  for (const id of created) await revokeKey(db, id, 1_000);
  for (let i = 0; i < quotas.apiKeys; i++) {
    const { keyId } = await keys.create(db, account, 2_000 + i);
    await revokeKey(db, keyId, 3_000);
  }
  const last = await keys.create(db, account, 4_000);
  const left = await listKeys(db, account);
  expect(left).toHaveLength(quotas.apiKeys + 1);
  expect(left.at(-1)).toMatchObject({ key_id: last.keyId, revoked_at: null });
  expect(left.some(({ key_id }) => created.includes(key_id))).toBe(false);
  expect(await tokens.identify(session)).toBeUndefined();
});

test('the limit of API keys holds for concurrent requests, and a deleted account gets none', async () => {
  const db = await temporaryDatabase();
  const keys = new ApiKeys(keyRing);
  const account = await newAccount(db);
  for (let i = 2; i < quotas.apiKeys; i++) await keys.create(db, account, i);
  const create = () => transaction(db, (trx) => keys.create(trx, account, 1_000));
  const created = await Promise.allSettled(Array.from({ length: 8 }, create));
  expect(created.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
  await transaction(db, (trx) => deleteAccount(trx, account, 2_000));
  await expect(create()).rejects.toThrow();
  expect(await listKeys(db, account)).toEqual([]);
});

test('the 101st session of an account ends its oldest, also one of another key, and none of others', async () => {
  const db = await temporaryDatabase();
  const keys = new ApiKeys(keyRing);
  const tokens = new DashboardTokens(db, keyRing);
  const [account, other] = [await newAccount(db), await newAccount(db, 'other')];
  const keyOf = async (id: string) => (await keys.create(db, id, 0)).keyId;
  const [key, secondKey, otherKey] = [await keyOf(account), await keyOf(account), await keyOf(other)];
  const oldest = await tokens.issueSession(secondKey);
  const others = [await tokens.issueSession(otherKey), await tokens.issueSession(null), await tokens.issueLink()];
  // Older than those that follow, on whatever clock.
  await db.updateTable('dashboard_tokens').set({ created_at: 0 }).execute();
  const sessions: string[] = [];
  for (let i = 1; i < quotas.sessions; i++) sessions.push(await tokens.issueSession(key));
  expect(await tokens.identify(oldest)).toMatchObject({ accountId: account });
  sessions.push(await tokens.issueSession(key));
  expect(await tokens.identify(oldest)).toBeUndefined();
  for (const each of sessions) expect(await tokens.identify(each)).toMatchObject({ accountId: account });
  expect(await tokens.identify(others[0]!)).toMatchObject({ accountId: other });
  expect(await tokens.identify(others[1]!)).toMatchObject({ role: 'operator' });
  expect(await tokens.redeemLink(others[2]!)).toBe(true);
});

test('a job of an account that is deleted meanwhile is refused for that reason, not for a quota', async () => {
  const db = await temporaryDatabase();
  const account = await newAccount(db);
  await transaction(db, (trx) => deleteAccount(trx, account, 1_000));
  await expect(newJob(db, account)).rejects.toThrow(AccountDeletedError);
});

test('links and sessions that were made while the clock was days ahead are not valid', async () => {
  const db = await temporaryDatabase();
  const tokens = new DashboardTokens(db, keyRing);
  const [link, session] = [await tokens.issueLink(), await tokens.issueSession(null)];
  expect(await tokens.identify(session)).toMatchObject({ role: 'operator' });
  const ahead = 20 * dayMs;
  await db
    .updateTable('dashboard_tokens')
    .set((eb) => ({ created_at: eb('created_at', '+', ahead), expires_at: eb('expires_at', '+', ahead) }))
    .execute();
  expect(await tokens.redeemLink(link)).toBe(false);
  expect(await tokens.identify(session)).toBeUndefined();
  await tokens.issueSession(null);
  expect(await db.selectFrom('dashboard_tokens').select('kind').execute()).toEqual([{ kind: 'session' }]);
});
