import { sql } from 'kysely';
import { cached } from '../../base/cached.js';
import { nextTurn } from '../../base/next-turn.js';
import { dayMs } from '../../base/time.js';
import type { AssetStore } from '../assets/asset-store.js';
import { deleteInBatches } from '../db/bounds.js';
import { type Db, kindOf, type Queryable } from '../db/database.js';
import type { Time } from '../db/time.js';
import { forUpdate, transaction } from '../db/transaction.js';
import type { InputStore } from '../inputs/input-store.js';

// A job is deleted in two steps. One transaction removes its rows, and records the deletion as pending. Then its files
// are removed, then the log of the database, and the deletion is no longer pending. Until then, housekeeping repeats
// the second step.

export interface JobFiles {
  inputs: InputStore;
  assets: AssetStore;
}

/** `in_progress`: a runner works on the job. `unknown`: the account has no such job. */
export type DeleteOutcome = 'deleted' | 'in_progress' | 'unknown';

/**
 * Deletes a job's rows: the job, its label and URL, its public page, its events and their deliveries. Repeated calls
 * also return `deleted`. The ledger keeps the charge, without a name. A job whose record has expired is found by its
 * charge.
 *
 * @param accountId the account that asks. Undefined for the operator
 */
export function deleteJob(db: Db, id: string, now: Time, accountId?: string): Promise<DeleteOutcome> {
  return transaction(db, async (trx) => {
    const job = await trx
      .selectFrom('jobs')
      .select(['account_id', 'status', 'model_key'])
      .where('id', '=', id)
      .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
      .$call(forUpdate(trx))
      .executeTakeFirst();
    if (job?.status === 'IN_PROGRESS') return 'in_progress';
    const owner = job?.account_id ?? (await ownerOfExpired(trx, id, accountId));
    if (owner === undefined) return 'unknown';
    await trx.deleteFrom('events').where('job_id', '=', id).execute();
    await trx.deleteFrom('jobs').where('id', '=', id).execute();
    const hadModel = job && job.model_key === null ? 0 : 1;
    await trx
      .insertInto('deleted_jobs')
      .values({ job_id: id, account_id: owner, deleted_at: now, pending: 1, had_model: hadModel })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    return 'deleted';
  });
}

/** Finds the account of a job without a record: the job was deleted, or only its charge remains. */
async function ownerOfExpired(trx: Queryable, id: string, accountId?: string): Promise<string | undefined> {
  const deleted = trx.selectFrom('deleted_jobs').select('account_id').where('job_id', '=', id);
  const owner = (await deleted.executeTakeFirst()) ?? (await chargeOf(trx, id));
  return owner && (accountId ?? owner.account_id) === owner.account_id ? owner.account_id : undefined;
}

/** Finds the charge of a job. It outlives the job's record. */
const chargeOf = (db: Queryable, id: string) =>
  db.selectFrom('ledger').select('account_id').where('job_id', '=', id).where('kind', '=', 'charge').executeTakeFirst();

/**
 * Removes the files of a deleted job, and what the database still has of its rows. Idempotent. While another process
 * reads the database, the deletion stays pending, and housekeeping tries again.
 *
 * @throws if a store is unavailable; housekeeping tries again
 */
export const finishDeletion = (db: Db, files: JobFiles, id: string): Promise<void> => erase(db, files, [id]);

async function erase(db: Db, { inputs, assets }: JobFiles, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    await inputs.erase(id);
    await assets.erase(id);
  }
  if (ids.length === 0 || !(await eraseLog(db))) return;
  await db.updateTable('deleted_jobs').set({ pending: 0 }).where('job_id', 'in', ids).execute();
}

/**
 * Erases SQLite's log of recent changes, in which deleted values are still readable. Resolves with false while another
 * process reads it. PostgreSQL has no such command: it recycles its log, and vacuum erases rows.
 */
async function eraseLog(db: Db): Promise<boolean> {
  if (kindOf(db).isShared) return true;
  const { rows } = await sql<{ busy: number }>`pragma wal_checkpoint(truncate)`.execute(db);
  return rows[0]?.busy === 0;
}

const erasedAtOnce = 100;

/** Finishes the deletions of the operator, and those that a crash, an outage or a reader of the database held up. */
export async function finishDeletions(db: Db, files: JobFiles): Promise<void> {
  for (let after = ''; ; ) {
    const rows = await db
      .selectFrom('deleted_jobs')
      .select('job_id')
      // A literal, to match the partial index.
      .where(sql<boolean>`pending = 1`)
      .where('job_id', '>', after)
      .orderBy('job_id')
      .limit(erasedAtOnce)
      .execute();
    const ids = rows.map(({ job_id }) => job_id);
    await erase(db, files, ids);
    await nextTurn();
    if (ids.length < erasedAtOnce) return;
    after = ids.at(-1)!;
  }
}

const jobsDeletedAtOnce = 100;

/** Deletes the jobs of deleted accounts, also those whose records have expired. Jobs in inference are left for later. */
export async function eraseDeletedAccounts(db: Db, now: Time): Promise<void> {
  const accounts = await db.selectFrom('accounts').select('id').where(sql<boolean>`erasing = 1`).execute();
  for (const { id } of accounts) {
    const jobs = db
      .selectFrom('jobs')
      .select('id')
      .where('account_id', '=', id)
      .where('status', '!=', 'IN_PROGRESS')
      .limit(jobsDeletedAtOnce);
    const expired = db
      .selectFrom('ledger')
      .select('job_id as id')
      .where('account_id', '=', id)
      .where('job_id', 'is not', null)
      .where('job_id', 'not in', db.selectFrom('deleted_jobs').select('job_id').where('account_id', '=', id))
      .limit(jobsDeletedAtOnce);
    for (const query of [jobs, expired]) {
      for (let rows = await query.execute(); rows.length > 0; rows = await query.execute()) {
        for (const row of rows) {
          await deleteJob(db, row.id!, now);
          await nextTurn();
        }
      }
    }
    const running = await db.selectFrom('jobs').select('id').where('account_id', '=', id).limit(1).executeTakeFirst();
    if (!running) await db.updateTable('accounts').set({ erasing: 0 }).where('id', '=', id).execute();
  }
}

export async function isDeleted(db: Queryable, id: string): Promise<boolean> {
  const deleted = db.selectFrom('deleted_jobs').select('job_id').where('job_id', '=', id);
  return (await deleted.executeTakeFirst()) !== undefined;
}

/** Whether a job had a model and was deleted, so that its URLs are gone for good. */
export async function isGone(db: Queryable, id: string): Promise<boolean> {
  const deleted = db.selectFrom('deleted_jobs').select('had_model').where('job_id', '=', id);
  return (await deleted.executeTakeFirst())?.had_model === 1;
}

/**
 * Returns a function that tells whether a job belongs to a deleted account whose files are not all removed yet. Nearly
 * always there is no such account, and it then reads nothing.
 */
export function ofErasedAccount(db: Queryable): (jobId: string) => Promise<boolean> {
  const erasing = cached(() => db.selectFrom('accounts').select('id').where(sql<boolean>`erasing = 1`).execute());
  return async (jobId) => {
    const accounts = (await erasing()).map(({ id }) => id);
    if (accounts.length === 0) return false;
    const job = db.selectFrom('jobs').select('account_id').where('id', '=', jobId);
    const owner = (await job.executeTakeFirst()) ?? (await chargeOf(db, jobId));
    return owner !== undefined && accounts.includes(owner.account_id);
  };
}

/** By then, even an attempt that was suspended can no longer store a file. */
const keptMs = 7 * dayMs;

/** Forgets the deletions of jobs that had no model. Those of the others are kept as long as their URLs may be used. */
export async function forgetDeletions(db: Queryable, now: number): Promise<void> {
  const old = db
    .selectFrom('deleted_jobs')
    .where(sql<boolean>`had_model = 0`)
    .where('pending', '=', 0)
    .where('deleted_at', '<', now - keptMs);
  await deleteInBatches(db, 'deleted_jobs', 'job_id', old);
}
