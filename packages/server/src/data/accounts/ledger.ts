import { newUlid } from '../../base/ids.js';
import type { MicroUsd } from '../../base/money.js';
import type { Queryable } from '../db/open.js';
import { prepared } from '../db/prepared.js';
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
 * Appends to the ledger and moves the balance with it. Must run inside a transaction.
 * @throws when the job was charged before: a unique index holds that line even if everything above it is wrong
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

/** Adds money to an account (a negative amount takes some back). Must run inside a transaction. */
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

/** Charges a finished job. Must run in the transaction that finishes it. A job that cost nothing is entered too. */
export async function charge(trx: Queryable, { price, ...details }: Charge, now: Time): Promise<void> {
  await append(trx, { ...details, amount: -price || 0, kind: 'charge' }, now);
}

const accountBalance = prepared((db, accountId: string) =>
  db.selectFrom('accounts').select('balance_microusd').where('id', '=', accountId),
);

export async function balanceOf(db: Queryable, accountId: string): Promise<MicroUsd> {
  const row = await accountBalance(db, accountId);
  if (!row) throw new Error(`there is no account ${accountId}`);
  return row.balance_microusd;
}
