import { AdminError } from '../../base/errors.js';
import { newUlid } from '../../base/ids.js';
import { type MicroUsd, toUsd } from '../../base/money.js';
import type { Queryable } from '../db/database.js';
import type { Tables } from '../db/tables.js';
import type { Time } from '../db/time.js';

// Keeps the money. The ledger is append-only, and an account's balance is the sum of its entries, stored next to it in
// the same transaction, so that reading it costs one row. A unique index on the job admits one charge per job, and
// another on the idempotency key one credit per request, whatever is retried or crashes in between.

interface Entry {
  accountId: string;
  /** Positive for a credit, zero or negative for a charge. */
  amount: MicroUsd;
  kind: 'credit' | 'charge';
  jobId?: string;
  idempotencyKey?: string | undefined;
  instance?: string;
  inferenceMs?: number;
}

/**
 * Appends an entry to the ledger and updates the balance. Does nothing if the account has an entry with the idempotency
 * key. Returns whether there is a new entry. Must run inside a transaction.
 * @throws if the job has already been charged; a unique index guarantees this
 */
async function append(trx: Queryable, entry: Entry, now: Time): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('ledger')
    .values({
      id: newUlid(),
      account_id: entry.accountId,
      amount_microusd: entry.amount,
      kind: entry.kind,
      job_id: entry.jobId ?? null,
      instance: entry.instance ?? null,
      inference_ms: entry.inferenceMs ?? null,
      idempotency_key: entry.idempotencyKey ?? null,
      created_at: now,
    })
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'idempotency_key']).where('idempotency_key', 'is not', null).doNothing(),
    )
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows === 0n) return false;
  await trx
    .updateTable('accounts')
    .set((eb) => ({ balance_microusd: eb('balance_microusd', '+', entry.amount) }))
    .where('id', '=', entry.accountId)
    .execute();
  return true;
}

/**
 * Adds money to an account, or removes it if the amount is negative. Returns false if a credit with the same
 * idempotency key has done so. Must run inside a transaction.
 * @throws {AdminError} if that had another amount
 */
export async function credit(
  trx: Queryable,
  accountId: string,
  amount: MicroUsd,
  now: Time,
  idempotencyKey?: string,
): Promise<boolean> {
  if (await append(trx, { accountId, amount, kind: 'credit', idempotencyKey }, now)) return true;
  const earlier = await trx
    .selectFrom('ledger')
    .select('amount_microusd')
    .where('account_id', '=', accountId)
    .where('idempotency_key', '=', idempotencyKey ?? '')
    .executeTakeFirst();
  if (earlier?.amount_microusd === amount) return false;
  const usd = toUsd(earlier?.amount_microusd ?? 0);
  throw new AdminError(`This idempotency key has credited ${usd} USD. Use another key for another amount`);
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

type LabeledEntry = Omit<Tables['ledger'], 'account_id' | 'idempotency_key'> & { label: string | null };

/**
 * Lists a page of the account's entries, newest first, with their jobs' labels, and says whether there are older ones.
 */
export async function listLedger(
  db: Queryable,
  accountId: string,
  before: string | undefined,
  limit: number,
): Promise<{ entries: LabeledEntry[]; more: boolean }> {
  let query = db
    .selectFrom('ledger')
    .leftJoin('jobs', 'jobs.id', 'ledger.job_id')
    .select([
      'ledger.id',
      'kind',
      'amount_microusd',
      'job_id',
      'label',
      'instance',
      'inference_ms',
      'ledger.created_at',
    ])
    .where('ledger.account_id', '=', accountId)
    .orderBy('ledger.id', 'desc')
    .limit(limit + 1);
  if (before !== undefined) query = query.where('ledger.id', '<', before);
  const rows = await query.execute();
  return { entries: rows.slice(0, limit), more: rows.length > limit };
}

/** Returns the inference times of the last jobs of all accounts. The ledger has one charge per succeeded job. */
export async function recentInferenceMs(db: Queryable, limit: number): Promise<number[]> {
  const rows = await db
    .selectFrom('ledger')
    .select('inference_ms')
    .where('kind', '=', 'charge')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
  return rows.flatMap(({ inference_ms }) => inference_ms ?? []);
}
