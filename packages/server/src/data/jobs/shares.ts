import { randomToken } from '../../base/ids.js';
import type { Db, Queryable } from '../db/database.js';
import type { Tables } from '../db/tables.js';
import { forKeyShare, transaction } from '../db/transaction.js';

/**
 * Gives a finished model a public page. Repeated calls keep its URL. Returns false if the account has no such model.
 */
export function shareModel(db: Db, accountId: string, jobId: string): Promise<boolean> {
  return transaction(db, async (trx) => {
    const job = await trx
      .selectFrom('jobs')
      .select(['label', 'model_key', 'thumbnail_key'])
      .where('id', '=', jobId)
      .where('account_id', '=', accountId)
      // Otherwise, the page of a model that is deleted meanwhile would stay.
      .$call(forKeyShare(trx))
      .executeTakeFirst();
    if (!job?.model_key || !job.thumbnail_key) return false;
    const { label, model_key, thumbnail_key } = job;
    const share = { token: randomToken(22), title: label ?? 'Model', model_key, thumbnail_key };
    await trx
      .insertInto('shared_models')
      .values({ job_id: jobId, account_id: accountId, ...share })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    return true;
  });
}

/** Removes the public page of a model. A new one gets another URL. */
export async function unshareModel(db: Queryable, accountId: string, jobId: string): Promise<void> {
  await db.deleteFrom('shared_models').where('job_id', '=', jobId).where('account_id', '=', accountId).execute();
}

/** Finds the model of a public page. Undefined if the page does not exist, no longer exists, or its account was deleted. */
export function findShare(db: Queryable, token: string): Promise<Tables['shared_models'] | undefined> {
  return db
    .selectFrom('shared_models')
    .innerJoin('accounts', 'accounts.id', 'shared_models.account_id')
    .selectAll('shared_models')
    .where('token', '=', token)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
}
