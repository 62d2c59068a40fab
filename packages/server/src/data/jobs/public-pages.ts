import { randomToken } from '../../base/ids.js';
import type { Queryable } from '../db/database.js';

// The token is a column of the job, so a public page ends with the job's record. An account can therefore find each of
// its public pages in its list of jobs, and remove it.

/** A model on its public page. */
export interface PublicPage {
  title: string;
  modelKey: string;
  thumbnailKey: string;
}

/** Gives a finished model a public page. Repeated calls keep its URL. False if the account has no such model. */
export async function addPublicPage(db: Queryable, accountId: string, jobId: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('jobs')
    .set((eb) => ({ share_token: eb.fn.coalesce('share_token', eb.val(randomToken(22))) }))
    .where('id', '=', jobId)
    .where('account_id', '=', accountId)
    .where('model_key', 'is not', null)
    .where('thumbnail_key', 'is not', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Removes the public page of a model. A new one gets another URL. */
export async function removePublicPage(db: Queryable, accountId: string, jobId: string): Promise<void> {
  const own = db.updateTable('jobs').where('id', '=', jobId).where('account_id', '=', accountId);
  await own.set({ share_token: null }).execute();
}

/** Finds the model of a public page. Returns undefined if the page does not exist, or its account was deleted. */
export async function findPublicPage(db: Queryable, token: string): Promise<PublicPage | undefined> {
  const job = await db
    .selectFrom('jobs')
    .innerJoin('accounts', 'accounts.id', 'jobs.account_id')
    .select(['label', 'model_key', 'thumbnail_key'])
    .where('share_token', '=', token)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  if (!job?.model_key || !job.thumbnail_key) return undefined;
  return { title: job.label ?? 'Model', modelKey: job.model_key, thumbnailKey: job.thumbnail_key };
}
