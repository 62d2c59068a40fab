import type { QuotaList } from '@gen3d/schema/dashboard';
import { Router } from 'express';
import { quotas } from '../../data/accounts/quotas.js';
import { quotaUse } from '../../data/jobs/counts.js';
import { callerOf } from '../http/auth.js';
import { onlyMethods, sendJson } from '../http/responses.js';
import type { Services } from '../http/services.js';

/** Serves `/dashboard/api/quotas`: how much the account has stored, and how much it may store. */
export function quotaRoutes({ db, jobStores }: Services): Router {
  const { maxOpenJobs, maxJobsPerDay, withoutModel } = jobStores;
  const router = Router();
  router
    .route('/')
    .get(async (_request, response) => {
      const { accountId } = callerOf(response);
      const { today, open, keys } = await quotaUse(db, accountId, maxOpenJobs);
      sendJson(response, 200, {
        jobs_today: { used: today, max: maxJobsPerDay },
        open_jobs: { used: open, max: maxOpenJobs },
        jobs_without_model: { used: await withoutModel(accountId), max: quotas.jobsWithoutModel },
        api_keys: { used: keys, max: quotas.apiKeys },
      } satisfies QuotaList);
    })
    .all(onlyMethods('GET'));
  return router;
}
