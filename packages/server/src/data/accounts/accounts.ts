import { limits } from '@gen3d/schema';
import type { Selectable } from 'kysely';
import { newUlid } from '../../base/ids.js';
import { type MicroUsd, toMicroUsd } from '../../base/money.js';
import { advisoryLock } from '../db/locks.js';
import type { Db, Queryable } from '../db/open.js';
import type { Tables } from '../db/tables.js';
import { currentTime, type Time } from '../db/time.js';
import { transaction } from '../db/transaction.js';
import { balanceOf, credit } from './ledger.js';

export type Account = Selectable<Tables['accounts']>;

/** Creates an account. Its ledger is empty, or has a credit of the balance. Must run inside a transaction. */
export async function createAccount(
  trx: Queryable,
  { name, balance = 0, sandbox = 0 }: { name: string; balance?: MicroUsd; sandbox?: 0 | 1 },
  now: Time,
): Promise<{ id: string }> {
  const id = newUlid();
  await trx.insertInto('accounts').values({ id, name, sandbox, balance_microusd: 0, created_at: now }).execute();
  if (balance !== 0) await credit(trx, id, balance, now);
  return { id };
}

/**
 * Adds money to an account, or removes it, once per idempotency key. Returns the new balance and whether it has changed,
 * or undefined if there is no such account.
 * @throws {AdminError} if the key belongs to another amount
 */
export async function creditAccount(
  db: Db,
  id: string,
  amount: MicroUsd,
  idempotencyKey?: string,
): Promise<{ balance: MicroUsd; isNew: boolean } | undefined> {
  return transaction(db, async (trx) => {
    if (!(await findAccount(trx, id))) return undefined;
    const isNew = await credit(trx, id, amount, currentTime(db), idempotencyKey);
    return { balance: await balanceOf(trx, id), isNew };
  });
}

/** All accounts, or the first ones, in the order of their creation, but the sandbox last. */
export async function listAccounts(db: Queryable, limit?: number): Promise<Account[]> {
  const accounts = db
    .selectFrom('accounts')
    .selectAll()
    .where('deleted_at', 'is', null)
    .orderBy('sandbox')
    .orderBy('id');
  return (limit === undefined ? accounts : accounts.limit(limit)).execute();
}

export async function findAccount(db: Queryable, id: string): Promise<Account | undefined> {
  return db.selectFrom('accounts').selectAll().where('id', '=', id).where('deleted_at', 'is', null).executeTakeFirst();
}

/**
 * Deletes an account with its name, keys, sessions, endpoint and events. Its jobs are deleted later, by
 * `eraseDeletedAccounts`. The ledger and the balance stay. Returns whether there was such an account.
 */
export async function deleteAccount(trx: Queryable, id: string, now: Time): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('accounts')
    .set({ name: '', deleted_at: now, erasing: 1 })
    .where('id', '=', id)
    .where('sandbox', '=', 0)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) return false;
  const keys = trx.selectFrom('api_keys').select('id').where('account_id', '=', id);
  await trx.deleteFrom('dashboard_tokens').where('key_id', 'in', keys).execute();
  const tables = [
    'api_keys',
    'webhook_endpoints',
    'webhook_listeners',
    'listener_events',
    'outbox',
    'webhook_deliveries',
  ] as const;
  for (const table of tables) await trx.deleteFrom(table).where('account_id', '=', id).execute();
  // It may contain a name, such as an invoice's.
  await trx.updateTable('ledger').set({ idempotency_key: null }).where('account_id', '=', id).execute();
  return true;
}

/** The account of the public test key, created on first use. Its jobs are free; its balance is only for display. */
export async function sandboxAccount(db: Db, now: Time): Promise<{ id: string }> {
  return transaction(db, async (trx) => {
    await advisoryLock(trx, 'sandbox account');
    const existing = await trx.selectFrom('accounts').selectAll().where('sandbox', '=', 1).executeTakeFirst();
    if (existing) return existing;
    return createAccount(trx, { name: 'sandbox', balance: toMicroUsd(10 * limits.minBalanceUsd), sandbox: 1 }, now);
  });
}

/** The number of accounts with a negative balance. */
export async function accountsBelowZero(db: Queryable): Promise<number> {
  const { count } = await db
    .selectFrom('accounts')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('balance_microusd', '<', 0)
    .executeTakeFirstOrThrow();
  return count;
}
