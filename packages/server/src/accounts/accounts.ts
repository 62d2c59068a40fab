import { limits } from '@gen3d/schema';
import type { Selectable } from 'kysely';
import type { Db, Queryable } from '../db/open.js';
import type { Tables } from '../db/tables.js';
import { newUlid } from '../ids.js';
import { credit } from './ledger.js';
import { toMicroUsd } from './money.js';

export type Account = Selectable<Tables['accounts']>;

/** Makes an account with an empty ledger. */
export async function createAccount(db: Queryable, name: string, now: number): Promise<Account> {
  const account = { id: newUlid(), name, sandbox: 0, balance_microusd: 0, created_at: now };
  await db.insertInto('accounts').values(account).execute();
  return account;
}

export async function findAccount(db: Queryable, id: string): Promise<Account | undefined> {
  return db.selectFrom('accounts').selectAll().where('id', '=', id).executeTakeFirst();
}

/** The account behind the public test key, made on first use. Its jobs cost nothing; the balance is there to be seen. */
export async function sandboxAccount(db: Db, now: number): Promise<Account> {
  return db.transaction().execute(async (trx) => {
    const existing = await trx.selectFrom('accounts').selectAll().where('sandbox', '=', 1).executeTakeFirst();
    if (existing) return existing;
    const account = { id: newUlid(), name: 'sandbox', sandbox: 1, balance_microusd: 0, created_at: now };
    await trx.insertInto('accounts').values(account).execute();
    await credit(trx, account.id, toMicroUsd(10 * limits.minBalanceUsd), now);
    return account;
  });
}
