import { limits } from '@gen3d/schema';
import type { Selectable, Transaction } from 'kysely';
import { AdminError } from '../../base/errors.js';
import { newUlid } from '../../base/ids.js';
import { type MicroUsd, toMicroUsd, toUsd } from '../../base/money.js';
import type { Config } from '../../config.js';
import type { Db, Queryable } from '../db/database.js';
import type { Tables } from '../db/tables.js';
import { currentTime, type Time } from '../db/time.js';
import { advisoryLock, forNoKeyUpdate, transaction } from '../db/transaction.js';
import { balanceOf, credit } from './ledger.js';
import { AccountDeletedError } from './quotas.js';
import { isFree } from './rates.js';

export type Account = Selectable<Tables['accounts']>;

/**
 * Creates an account. Its ledger is empty, or has a credit of the balance.
 * @throws {AdminError} if another account has the name
 */
export async function createAccount(
  trx: Transaction<Tables>,
  { name, balance = 0, sandbox = 0 }: { name: string; balance?: MicroUsd; sandbox?: 0 | 1 },
  now: Time,
): Promise<{ id: string }> {
  if (sandbox === 0) await requireFreeName(trx, name);
  const id = newUlid();
  await trx.insertInto('accounts').values({ id, name, sandbox, balance_microusd: 0, created_at: now }).execute();
  if (balance !== 0) await credit(trx, id, balance, now);
  return { id };
}

/**
 * Creates an account at an operator's request, and returns its balance in USD. Where models cost nothing, it has enough
 * for its jobs.
 * @throws {AdminError} if another account has the name
 */
export async function openAccount(
  db: Db,
  config: Pick<Config, 'rates'>,
  { name, balance_usd: wantedUsd }: { name: string; balance_usd?: number | undefined },
): Promise<{ account_id: string; name: string; balance_usd: number }> {
  const free = await isFree(db, config);
  const balance = toMicroUsd(wantedUsd ?? (free ? 10 * limits.minBalanceUsd : 0));
  const { id } = await transaction(db, (trx) => createAccount(trx, { name, balance }, currentTime(db)));
  return { account_id: id, name, balance_usd: toUsd(balance) };
}

/** Commands take a name instead of an id, so accounts have different names. The sandbox cannot be named in one. */
async function requireFreeName(trx: Transaction<Tables>, name: string): Promise<void> {
  await advisoryLock(trx, 'account names');
  const named = trx.selectFrom('accounts').select('id').where('name', '=', name).where('sandbox', '=', 0);
  const other = await named.where('deleted_at', 'is', null).executeTakeFirst();
  if (other) throw new AdminError(`The account ${other.id} has the name "${name}". Choose another name`);
}

/**
 * Changes the name of an account. Returns its balance, or undefined if it does not exist.
 * @throws {AdminError} if an account has the name
 */
export async function renameAccount(
  trx: Transaction<Tables>,
  id: string,
  name: string,
): Promise<{ balance: MicroUsd } | undefined> {
  await requireFreeName(trx, name);
  const renamed = await trx
    .updateTable('accounts')
    .set({ name })
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .returning('balance_microusd as balance')
    .executeTakeFirst();
  return renamed;
}

/**
 * Adds money to an account, or removes it, once per idempotency key. Returns the new balance and whether it has
 * changed, or undefined if the account does not exist.
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

/** Lists all accounts, or the first ones, in the order of their creation, but the sandbox last. */
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
 * Locks an account until the transaction ends: it is not deleted meanwhile, and another transaction with this lock
 * waits.
 * @throws {AccountDeletedError} if it was deleted
 */
export async function lockAccount(trx: Queryable, id: string): Promise<void> {
  const account = trx.selectFrom('accounts').select('id').where('id', '=', id).where('deleted_at', 'is', null);
  await account.$call(forNoKeyUpdate(trx)).executeTakeFirstOrThrow(() => new AccountDeletedError());
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
  for (const table of ['api_keys', 'webhook_endpoints', 'events'] as const)
    await trx.deleteFrom(table).where('account_id', '=', id).execute();
  // It may contain a name, such as an invoice's.
  await trx.updateTable('ledger').set({ idempotency_key: null }).where('account_id', '=', id).execute();
  return true;
}

/** Returns the account of the public test key, created on first use. Its jobs are free; its balance is only shown. */
export async function sandboxAccount(db: Db, now: Time): Promise<{ id: string }> {
  return transaction(db, async (trx) => {
    await advisoryLock(trx, 'sandbox account');
    const existing = await trx.selectFrom('accounts').selectAll().where('sandbox', '=', 1).executeTakeFirst();
    if (existing) return existing;
    return createAccount(trx, { name: 'sandbox', balance: toMicroUsd(10 * limits.minBalanceUsd), sandbox: 1 }, now);
  });
}

/** Counts the accounts with a negative balance. */
export async function accountsBelowZero(db: Queryable): Promise<number> {
  const { count } = await db
    .selectFrom('accounts')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('balance_microusd', '<', 0)
    .executeTakeFirstOrThrow();
  return count;
}
