import { limits } from '@gen3d/schema';
import type { Selectable } from 'kysely';
import { newUlid } from '../../base/ids.js';
import { toMicroUsd } from '../../base/money.js';
import { advisoryLock } from '../db/locks.js';
import type { Db, Queryable } from '../db/open.js';
import type { Tables } from '../db/tables.js';
import type { Time } from '../db/time.js';
import { transaction } from '../db/transaction.js';
import { credit } from './ledger.js';

export type Account = Selectable<Tables['accounts']>;

/** Creates an account with an empty ledger. */
export async function createAccount(db: Queryable, name: string, now: Time): Promise<{ id: string }> {
  const id = newUlid();
  await db.insertInto('accounts').values({ id, name, sandbox: 0, balance_microusd: 0, created_at: now }).execute();
  return { id };
}

export async function findAccount(db: Queryable, id: string): Promise<Account | undefined> {
  return db.selectFrom('accounts').selectAll().where('id', '=', id).executeTakeFirst();
}

/** The account of the public test key, created on first use. Its jobs are free; its balance is only for display. */
export async function sandboxAccount(db: Db, now: Time): Promise<{ id: string }> {
  return transaction(db, async (trx) => {
    await advisoryLock(trx, 'sandbox account');
    const existing = await trx.selectFrom('accounts').selectAll().where('sandbox', '=', 1).executeTakeFirst();
    if (existing) return existing;
    const id = newUlid();
    const account = { id, name: 'sandbox', sandbox: 1, balance_microusd: 0, created_at: now };
    await trx.insertInto('accounts').values(account).execute();
    await credit(trx, id, toMicroUsd(10 * limits.minBalanceUsd), now);
    return { id };
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
