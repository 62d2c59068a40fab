import { isTerminal, JobStatus, ListJobsQuery } from '@gen3d/schema';
import { type GalleryJob, type GalleryPage, jobGroups } from '@gen3d/schema/dashboard';
import { samplerHeader } from '@gen3d/schema/rules';
import { Router } from 'express';
import { z } from 'zod';
import { currentTime } from '../../data/db/time.js';
import { deleteJob, finishDeletion } from '../../data/jobs/deletion.js';
import { countGallery, findGalleryJob, type GalleryRow, listGallery, toGalleryJob } from '../../data/jobs/gallery.js';
import { cancel } from '../../data/jobs/lifecycle.js';
import { addPublicPage, removePublicPage } from '../../data/jobs/public-pages.js';
import { retryJob } from '../../data/jobs/retry.js';
import { HttpError, noSuch, sendJson, validated } from '../answers/responses.js';
import { callerOf, refuseSandbox } from '../guards/auth.js';
import { changeInTurn, listInTurn } from '../guards/shares.js';
import { streamJobEvents } from './events.js';
import { repeatKey, samplerSettings } from './jobs.js';
import type { Services } from './services.js';

const GalleryQuery = z.object({
  search: z.string().max(200).optional(),
  id: z
    .string()
    .regex(/^[0-9A-Za-z]{1,26}$/, 'must be the start of a job id')
    .transform((id) => id.toUpperCase())
    .optional(),
  group: z.enum(jobGroups).optional(),
  status: z.optional(JobStatus),
  limit: ListJobsQuery.shape.limit,
  cursor: z.string().optional(),
});
type GalleryQuery = z.infer<typeof GalleryQuery>;

/**
 * Adapts a query to an account whose jobs have no labels: a search matches only ids. These are in an index, so the
 * search is fast, however many jobs everyone has created with the public test key.
 */
const withoutLabels = ({ search, id, ...query }: GalleryQuery): GalleryQuery => ({
  ...query,
  id: search ? search.toUpperCase() : id,
});

/** The services that turn the row of a job into a response. */
type Presented = Pick<Services, 'assetsUrl' | 'db' | 'estimateOf' | 'jobStores'>;

type Dependencies = Presented &
  Pick<Services, 'cursors' | 'eventFeed' | 'files' | 'log' | 'shares' | 'onJobCanceled' | 'onJobCreated'>;

/**
 * Serves the account's jobs with labels, and operations that the public API lacks (docs/job-list.md). Mounted at
 * `/gen3d/jobs` for API keys, and at `/dashboard/api/gallery` for sessions.
 */
export function galleryRoutes(services: Dependencies): Router {
  const router = Router();
  addReads(router, services);
  addChanges(router, services);
  addSharing(router, services);
  addRetries(router, services);
  return router;
}

/** Converts the rows of jobs for clients. */
function presenter({ assetsUrl, estimateOf, jobStores, db }: Presented) {
  const present = async (row: GalleryRow): Promise<GalleryJob> =>
    toGalleryJob(row, assetsUrl(), isTerminal(row.status) ? {} : await estimateOf(row), jobStores.keepPhotosDays);

  async function find(accountId: string, id: string): Promise<GalleryJob> {
    const row = await findGalleryJob(db, accountId, id);
    if (!row) throw noSuch('job');
    return present(row);
  }

  return { present, find };
}

function addReads(router: Router, services: Dependencies): void {
  const { db, cursors, shares } = services;
  const { present, find } = presenter(services);
  router.get('/', async (request, response) => {
    const asked = validated(GalleryQuery.safeParse(request.query), 'query');
    const { accountId, sandbox } = callerOf(response);
    const { cursor, ...query } = sandbox ? withoutLabels(asked) : asked;
    const search = query.search || undefined;
    const after = await cursors.read(accountId, cursor);
    const list = () => listGallery(db, accountId, { ...query, search, after });
    const count = async () => ({ counts: await countGallery(db, accountId, search) });
    const { rows, more } = await listInTurn(shares, response, list);
    const last = rows.at(-1);
    sendJson(response, 200, {
      jobs: await Promise.all(rows.map(present)),
      ...(more && last ? { next_cursor: cursors.issue(accountId, last.id) } : {}),
      ...(sandbox ? {} : await listInTurn(shares, response, count)),
    } satisfies GalleryPage);
  });

  router.get('/:id', async (request, response) => {
    sendJson(response, 200, await find(callerOf(response).accountId, request.params.id));
  });

  router.get('/:id/events', (request, response) => streamJobEvents(services, request, response));
}

function addChanges(router: Router, services: Dependencies): void {
  const { db, log, files, onJobCanceled, shares } = services;
  const { find } = presenter(services);
  // `route` keeps the type of `request.params`, which the handler before would widen.
  router.route('/:id').delete(refuseSandbox, async (request, response) => {
    const { id } = request.params;
    await changeInTurn(shares, response, async (accountId) => {
      const outcome = await deleteJob(db, id, currentTime(db), accountId);
      if (outcome === 'unknown') throw noSuch('job');
      if (outcome === 'in_progress') {
        throw new HttpError(
          409,
          'not_deletable',
          'The job is in inference. Cancel it first, or delete it when it is finished',
        );
      }
      await finishDeletion(db, files, id).catch((err: unknown) => {
        log.warn({ err, jobId: id }, 'deleted a job, but not its files yet; housekeeping removes them');
      });
    });
    response.status(204).end();
  });

  router.route('/:id/cancel').post(refuseSandbox, async (request, response) => {
    const { accountId } = callerOf(response);
    const { id } = request.params;
    const change = () => cancel(db, id, currentTime(db), accountId);
    const { outcome, forgotten } = await changeInTurn(shares, response, change);
    if (outcome === 'unknown') throw noSuch('job');
    if (outcome === 'too_late') {
      throw new HttpError(409, 'not_cancelable', 'The job is finished, and cannot be canceled');
    }
    onJobCanceled();
    if (forgotten !== undefined) await files.inputs.remove(forgotten);
    sendJson(response, 200, await find(accountId, id));
  });
}

function addSharing(router: Router, services: Dependencies): void {
  const { db, shares } = services;
  const { find } = presenter(services);
  router.route('/:id/share').put(refuseSandbox, async (request, response) => {
    const { accountId } = callerOf(response);
    const { id } = request.params;
    if (!(await changeInTurn(shares, response, () => addPublicPage(db, accountId, id)))) throw noSuch('model');
    sendJson(response, 200, await find(accountId, id));
  });

  router.route('/:id/share').delete(refuseSandbox, async (request, response) => {
    await changeInTurn(shares, response, (accountId) => removePublicPage(db, accountId, request.params.id));
    response.status(204).end();
  });
}

function addRetries(router: Router, { db, shares, jobStores, onJobCreated }: Dependencies): void {
  router.route('/:id/retry').post(refuseSandbox, async (request, response) => {
    const { traceId } = response.locals;
    const sampler = samplerSettings(request.get(samplerHeader));
    const key = repeatKey(request);
    const retried = await changeInTurn(shares, response, (accountId) =>
      retryJob(jobStores, accountId, request.params.id, currentTime(db), { traceId, sampler, key }),
    );
    if (retried === 'unknown') throw noSuch('job');
    if (retried === 'not_retryable') {
      const message = 'The job is not finished, or the server has deleted its photo. Send the photo again';
      throw new HttpError(409, 'not_retryable', message);
    }
    if (retried.created) onJobCreated();
    response.locals.jobId = retried.id;
    sendJson(response, 202, { job_id: retried.id });
  });
}
