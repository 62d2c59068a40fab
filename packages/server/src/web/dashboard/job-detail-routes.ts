import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { JobDetails } from '@gen3d/schema/dashboard';
import { photoSides } from '@gen3d/schema/rules';
import { Router } from 'express';
import { toUsd } from '../../base/money.js';
import { encodeImage } from '../../data/inputs/encode-image.js';
import { UnreadableImageError } from '../../data/inputs/input-store.js';
import { unpack } from '../../data/inputs/stored-image.js';
import { findJobWithCharge, findTask } from '../../data/jobs/job-store.js';
import { imageUrlsOf } from '../../data/jobs/photos.js';
import { stagesOf } from '../../data/jobs/stage-times.js';
import { listEvents } from '../../data/webhooks/event-log.js';
import { noSuch, sendJson } from '../answers/responses.js';
import { callerOf } from '../guards/auth.js';
import { inTurn } from '../guards/shares.js';
import type { Services } from '../routes/services.js';

/** Serves `/dashboard/api/job-details`: fields of a job that the task object does not have. */
export function jobDetailRoutes({ db, files, shares }: Pick<Services, 'db' | 'files' | 'shares'>): Router {
  const router = Router();
  router.get('/:id', async (request, response) => {
    const { accountId } = callerOf(response);
    const { id } = request.params;
    const job = await findJobWithCharge(db, accountId, id);
    if (!job) throw noSuch('job');
    sendJson(response, 200, {
      image_urls: imageUrlsOf(job),
      attempts: job.attempt,
      cost_usd: job.amount_microusd === null ? null : toUsd(-job.amount_microusd || 0),
      instance: job.instance,
      bundle: job.bundle,
      stages: stagesOf(job.stage_ms),
      events: await listEvents(db, accountId, { jobId: id }),
    } satisfies JobDetails);
  });

  // The photo of a side, or 204 if the server has none.
  router.get('/:id/photos/:side', async (request, response) => {
    const { accountId } = callerOf(response);
    const { id } = request.params;
    const side = photoSides.find((each) => each === request.params.side);
    if (!(await findTask(db, accountId, id))) throw noSuch('job');
    if (!side) throw noSuch('side');
    await inTurn(shares.photos, accountId, response, async () => {
      const stored = await files.inputs.read(id, side).catch(ifNoPhoto);
      if (!stored) return void response.status(204).end();
      const image = unpack(stored);
      const file = image instanceof Uint8Array ? image : await encodeImage(image, 'webp');
      // Users choose the bytes, so a browser must not interpret them as a page, even if it opens this URL.
      response.setHeader('x-content-type-options', 'nosniff');
      response.setHeader('content-disposition', 'attachment');
      response.setHeader('content-type', 'application/octet-stream');
      response.setHeader('content-length', file.length);
      // If either side fails, both are closed. The client notices that bytes are missing.
      await pipeline(Readable.from([file]), response).catch(() => {});
    });
  });
  return router;
}

function ifNoPhoto(error: unknown): undefined {
  if (!(error instanceof UnreadableImageError && error.isMissing)) throw error;
}
