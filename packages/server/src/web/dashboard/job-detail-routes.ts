import type { JobDetails } from '@gen3d/schema/dashboard';
import { Router } from 'express';
import { toUsd } from '../../base/money.js';
import { stagesOf } from '../../data/jobs/stage-times.js';
import { callerOf } from '../http/auth.js';
import { HttpError, onlyMethods, sendJson } from '../http/responses.js';
import type { Services } from '../http/services.js';
import { listEvents } from './events.js';

/** `/dashboard/api/job-details`: fields of a job that the task object does not have. */
export function jobDetailRoutes({ db }: Services): Router {
  const router = Router();
  router
    .route('/:id')
    .get(async (request, response) => {
      const { accountId } = callerOf(response);
      const job = await db
        .selectFrom('jobs')
        .leftJoin('ledger', (join) => join.onRef('ledger.job_id', '=', 'jobs.id').on('kind', '=', 'charge'))
        .select([
          'jobs.id',
          'image_url',
          'attempt',
          'stage_ms',
          'bundle',
          'amount_microusd',
          'instance',
          'inference_ms',
        ])
        .where('jobs.id', '=', request.params.id)
        .where('jobs.account_id', '=', accountId)
        .executeTakeFirst();
      if (!job) throw new HttpError(404, 'not_found', 'No such job');
      sendJson(response, 200, {
        image_url: job.image_url,
        attempts: job.attempt,
        cost_usd: job.amount_microusd === null ? null : toUsd(-job.amount_microusd || 0),
        instance: job.instance,
        bundle: job.bundle,
        inference_seconds: job.inference_ms === null ? null : job.inference_ms / 1_000,
        stages: stagesOf(job.stage_ms),
        events: await listEvents(db, accountId, { jobId: job.id }),
      } satisfies JobDetails);
    })
    .all(onlyMethods('GET'));
  return router;
}
