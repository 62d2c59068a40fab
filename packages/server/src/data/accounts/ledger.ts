import { newUlid } from '../../base/ids.js';
import type { MicroUsd } from '../../base/money.js';
import type { Queryable } from '../db/open.js';
import type { Time } from '../db/time.js';

interface Entry {
  accountId: string;
  /** Positive for a credit, zero or negative for a charge. */
  amount: MicroUsd;
  kind: 'credit' | 'charge';
  jobId?: string;
  instance?: string;
  inferenceMs?: number;
}

/**
 * Appends an entry to the ledger and updates the balance. Must run inside a transaction.
 * @throws if the job has already been charged; a unique index guarantees this
 */
async function append(trx: Queryable, entry: Entry, now: Time): Promise<void> {
  await trx
    .insertInto('ledger')
    .values({
      id: newUlid(),
      account_id: entry.accountId,
      amount_microusd: entry.amount,
      kind: entry.kind,
      job_id: entry.jobId ?? null,
      instance: entry.instance ?? null,
      inference_ms: entry.inferenceMs ?? null,
      created_at: now,
    })
    .execute();
  await trx
    .updateTable('accounts')
    .set((eb) => ({ balance_microusd: eb('balance_microusd', '+', entry.amount) }))
    .where('id', '=', entry.accountId)
    .execute();
}

/** Adds money to an account, or removes it if the amount is negative. Must run inside a transaction. */
export async function credit(trx: Queryable, accountId: string, amount: MicroUsd, now: Time): Promise<void> {
  await append(trx, { accountId, amount, kind: 'credit' }, now);
}

export interface Charge {
  accountId: string;
  jobId: string;
  price: MicroUsd;
  instance: string;
  inferenceMs: number;
}

/** Charges a finished job, also at a price of 0. Must run in the transaction that finishes the job. */
export async function charge(trx: Queryable, { price, ...details }: Charge, now: Time): Promise<void> {
  await append(trx, { ...details, amount: -price || 0, kind: 'charge' }, now);
}

export async function balanceOf(db: Queryable, accountId: string): Promise<MicroUsd> {
  const row = await db.selectFrom('accounts').select('balance_microusd').where('id', '=', accountId).executeTakeFirst();
  if (!row) throw new Error(`Account ${accountId} does not exist`);
  return row.balance_microusd;
}
