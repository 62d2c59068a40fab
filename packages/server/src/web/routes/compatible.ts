import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { isTerminal, jobType, parseCreateJobRequest, sniffFileType } from '@gen3d/schema';
import { Router } from 'express';
import { z } from 'zod';
import { findTask } from '../../data/jobs/job-store.js';
import { assetUrl, type TaskRow } from '../../data/jobs/task.js';
import { HttpError, sendJson, validated } from '../answers/responses.js';
import { callerOf } from '../guards/auth.js';
import { jsonBody, releaseBody } from '../guards/json-body.js';
import { RequestsInProgress } from '../guards/requests-in-progress.js';
import { acceptJob } from './jobs.js';
import type { Services } from './services.js';

const pollMs = 500;

/** Requests that wait for their job, each with an open connection. An account has at most half. */
const maxWaiting = 64;

/** Only these fields have an effect. Clients also send fields of other servers, such as `model` and `quality`. */
const Generation = z.object({
  image: z.string().optional(),
  image_url: z.string().optional(),
  response_format: z.enum(['url', 'b64_json']).default('url'),
});

/** Makes a URL as in the contract from a URL, or from base64 without its media type. */
function imageUrl(image: string): string {
  if (/^(data|https?):/i.test(image)) return image;
  return `data:image/${sniffFileType(Buffer.from(image.slice(0, 1_024), 'base64')) ?? 'png'};base64,${image}`;
}

/**
 * Serves `/v1/3d/generations`, which several servers for local models have (docs/compatible-route.md). It creates a job
 * as `/v1/jobs` does, with the same limits and errors, and responds when the job is finished. If the connection ends,
 * the job continues, and the account's list has its model.
 */
export function compatibleRoutes(services: Services): Router {
  const { db, assetsUrl, files, slots } = services;
  const router = Router();
  const waiting = new RequestsInProgress({ total: maxWaiting });

  router.post('/', jsonBody(services), async (request, response) => {
    const body = validated(Generation.safeParse(request.body));
    const { image = body.image_url, response_format } = body;
    if (image === undefined) {
      throw new HttpError(400, 'invalid_request', 'image: missing; send a URL, a data URI or base64');
    }
    const job = validated(parseCreateJobRequest({ type: jobType, input: { image_urls: [imageUrl(image)] } }));
    const { accountId } = callerOf(response);
    waiting.begin(accountId, response);
    const id = await acceptJob(services, response, job);
    releaseBody(request, response);

    let task: TaskRow | undefined;
    for (;;) {
      if (response.closed) return;
      task = await findTask(db, accountId, id);
      if (!task || isTerminal(task.status)) break;
      await sleep(pollMs);
    }
    const key = task?.model_key ?? undefined;
    if (key === undefined) {
      const code = task?.error_code ?? 'canceled';
      return sendJson(response, 422, { error: { code, message: task?.error_message ?? 'The job was canceled' } });
    }
    const send = (asset: { url: string } | { b64_json: string }) =>
      sendJson(response, 200, { id, created: Math.floor(Date.now() / 1_000), data: [asset] });
    if (response_format === 'url') return send({ url: assetUrl(assetsUrl(), key) });
    await slots.files.run(accountId, response, async () => {
      const model = await files.assets.read(key);
      send({ b64_json: Buffer.from(model ?? []).toString('base64') });
      // The slot limits how many models are in memory.
      await finished(response).catch(() => {});
    });
  });

  return router;
}
