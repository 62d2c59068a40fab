import { pipeline } from 'node:stream/promises';
import type { JobDetails } from '@gen3d/schema/dashboard';
import { Router } from 'express';
import { toUsd } from '../../base/money.js';
import { UnreadableImageError } from '../../data/inputs/input-store.js';
import { findJobWithCharge, findTask } from '../../data/jobs/job-store.js';
import { stagesOf } from '../../data/jobs/stage-times.js';
import { listEvents } from '../../data/webhooks/event-log.js';
import { noSuch, sendJson } from '../answers/responses.js';
import { callerOf } from '../guards/auth.js';
import { inTurn } from '../guards/shares.js';
import type { Services } from '../routes/services.js';

/** Serves `/dashboard/api/job-details`: fields of a job that the task object does not have. */
export function jobDetailRoutes({
  db,
  files,
  shares,
  config,
}: Pick<Services, 'db' | 'files' | 'shares' | 'config'>): Router {
  const router = Router();
  router.get('/:id', async (request, response) => {
    const { accountId } = callerOf(response);
    const { id } = request.params;
    const job = await findJobWithCharge(db, accountId, id);
    if (!job) throw noSuch('job');
    sendJson(response, 200, {
      image_url: job.image_url,
      attempts: job.attempt,
      cost_usd: job.amount_microusd === null ? null : toUsd(-job.amount_microusd || 0),
      instance: job.instance,
      bundle: job.bundle,
      inference_seconds: job.inference_ms === null ? null : job.inference_ms / 1_000,
      stages: stagesOf(job.stage_ms),
      events: await listEvents(db, accountId, { jobId: id }),
    } satisfies JobDetails);
  });

  // The photo, or 204 if the server has none.
  router.get('/:id/photo', async (request, response) => {
    const { accountId } = callerOf(response);
    const job = await findTask(db, accountId, request.params.id);
    if (!job) throw noSuch('job');
    if (job.status === 'SUCCEEDED' && config.keepPhotosDays === undefined) return void response.status(204).end();
    await inTurn(shares.files, accountId, response, async () => {
      const photo = await files.inputs.open(request.params.id).catch(ifNoPhoto);
      if (!photo) return void response.status(204).end();
      // Users choose the bytes, so a browser must not interpret them as a page, even if it opens this URL.
      response.setHeader('x-content-type-options', 'nosniff');
      response.setHeader('content-disposition', 'attachment');
      response.setHeader('content-type', 'application/octet-stream');
      response.setHeader('content-length', photo.size);
      // If either side fails, both are closed. The client notices that bytes are missing.
      await pipeline(photo.bytes, response).catch(() => {});
    });
  });
  return router;
}

function ifNoPhoto(error: unknown): undefined {
  if (!(error instanceof UnreadableImageError && error.isMissing)) throw error;
}
