import { Ulid } from '@gen3d/schema';
import { z } from 'zod';
import { deleteAccount } from '../accounts/accounts.js';
import { revokeKey } from '../accounts/api-keys.js';
import type { Db } from '../db/database.js';
import { currentTime } from '../db/time.js';
import { transaction } from '../db/transaction.js';
import { deleteJob, type JobFiles } from './deletion.js';
import { cancel } from './lifecycle.js';

// A restored backup still contains what was deleted after it was made. So the last step of a restore repeats all
// deletions from a list, which contains only ids, and is small enough to be saved often.

/** An account or job that was deleted, or a key that was revoked. */
export const Deletion = z.object({ kind: z.enum(['account', 'key', 'job']), id: Ulid });
export type Deletion = z.infer<typeof Deletion>;

export async function listDeletions(db: Db): Promise<Deletion[]> {
  const of = (kind: Deletion['kind'], rows: { id: string }[]) => rows.map(({ id }) => ({ kind, id }));
  return [
    ...of('account', await db.selectFrom('accounts').select('id').where('deleted_at', 'is not', null).execute()),
    ...of('key', await db.selectFrom('api_keys').select('id').where('revoked_at', 'is not', null).execute()),
    ...of('job', await db.selectFrom('deleted_jobs').select('job_id as id').execute()),
  ];
}

/**
 * Repeats deletions. Removes the files of jobs at once, even of jobs that are not in the database, because the copy of
 * the models may be newer than that of the database. The files of accounts are left to the server.
 */
export async function repeatDeletions(db: Db, files: JobFiles, deletions: readonly Deletion[]): Promise<void> {
  const now = currentTime(db);
  const repeat: Record<Deletion['kind'], (id: string) => Promise<unknown>> = {
    account: (id) => transaction(db, (trx) => deleteAccount(trx, id, now)),
    key: (id) => transaction(db, (trx) => revokeKey(trx, id, now)),
    job: async (id) => {
      await cancel(db, id, now);
      await deleteJob(db, id, now);
      await files.inputs.erase(id);
      await files.assets.erase(id);
    },
  };
  for (const { kind, id } of deletions) await repeat[kind](id);
}
