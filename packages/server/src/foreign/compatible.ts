import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type CreateJobRequest, isTerminal, jobType, parseCreateJobRequest, sniffFileType } from '@gen3d/schema';
import { type Request, type Response, Router } from 'express';
import { z } from 'zod';
import { nextTurn } from '../base/next-turn.js';
import { findTask, releaseKey } from '../data/jobs/job-store.js';
import { assetUrl, type TaskRow } from '../data/jobs/task.js';
import { HttpError, noSuch, sendJson, validated } from '../web/answers/responses.js';
import { callerOf } from '../web/guards/auth.js';
import { imageBody, jsonBody, releaseBody } from '../web/guards/json-body.js';
import { admissionOf, hold, inTurn } from '../web/guards/shares.js';
import type { RouteGroup } from '../web/mount.js';
import { acceptJob, type JobCreation, repeatKey } from '../web/routes/jobs.js';
import type { Services } from '../web/routes/services.js';
import { modelBundle } from '../work/bundles.js';

/** A waiting request looks at its job at least this often, in case a notification was lost. */
const maxPauseMs = 30_000;

type Dependencies = JobCreation & Pick<Services, 'assetsUrl' | 'config' | 'eventFeed' | 'files' | 'shares'>;

const Image = z.string().nullish();
const Sides = z.strictObject({ front: Image, left: Image, back: Image, right: Image });
const Images = z.array(Image).max(4, 'must have at most 4 images').nullish();
const oneOrSides = 'must be a URL, a data URI, base64, or an object of these with front, left, back and right';

/** Only these fields have an effect. Clients also send fields of other servers, such as `model` and `quality`. */
const Generation = z.object({
  /** An object as for Hunyuan3D-2mv, or one image. */
  image: z.union([z.string(), Sides], oneOrSides).nullish(),
  image_url: z.string().nullish(),
  /** Lists in Tripo's order: front, left, back, right. */
  image_urls: Images,
  images: Images,
  response_format: z.string().nullish(),
});

/** How the model is returned: as the file itself, or in JSON. */
type Form = 'glb' | 'url' | 'b64_json';

const isImage = (request: Request) => /^image\//i.test(request.headers['content-type'] ?? '');
const wantsAsync = (request: Request) => /(^|[\s,])respond-async\b/i.test(request.get('prefer') ?? '');

/** LocalAI responds with a URL whatever else is asked for, and Lemonade with the file. */
function formOf(request: Request, format: string | null | undefined): Form {
  if (isImage(request)) return 'glb';
  if (format === 'b64_json') return format;
  if (request.baseUrl === '/3d/generations') return 'url';
  if (format === undefined || format === null) return 'glb';
  if (format === 'glb' || format === 'url') return format;
  throw new HttpError(400, 'invalid_request', 'response_format: must be glb, url or b64_json');
}

/** Makes a URL as in the contract from a URL, or from base64 without its media type. */
function imageUrl(image: string): string {
  if (/^(data|https?):/i.test(image)) return image;
  return `data:image/${sniffFileType(Buffer.from(image.slice(0, 1_024), 'base64')) ?? 'png'};base64,${image}`;
}

/** Returns the routes that other servers for local models have: docs/compatible-route.md. */
export const compatibleRoutes = (services: Dependencies): readonly RouteGroup<'key'>[] => [
  // Without a version it is LocalAI's path, whose responses are JSON unless asked otherwise.
  {
    at: ['/3d/generations', '/v1/3d/generations', '/api/v1/3d/generations'],
    who: 'key',
    routes: generationRoutes(services),
  },
  { at: ['/v1/models', '/api/v1/models'], who: 'key', routes: modelRoutes(services) },
];

/**
 * A request creates a job as `/v1/jobs` does, with the same limits and errors. The response follows when the job is
 * finished. If the connection ends first, the job continues, and the account's list has its model.
 */
function generationRoutes(services: Dependencies): Router {
  const { db } = services;
  const router = Router();
  const [readImage, readJson] = [imageBody(services), jsonBody(services)];

  router.post(
    '/',
    (request, response, next) => (isImage(request) ? readImage : readJson)(request, response, next),
    async (request, response) => {
      const { input, format } = readPhotos(request);
      const form = formOf(request, format);
      const job = validated(parseCreateJobRequest({ type: jobType, input }));
      const { accountId } = callerOf(response);
      const { holder, share } = admissionOf(response);
      hold(services.shares.waiting, holder, response);
      const idempotency_key = repeatKey(request) ?? (await keyOfInput(services, accountId, job));
      const id = await acceptJob(services, response, { ...job, idempotency_key });
      releaseBody(request, response);
      share.end();
      if (wantsAsync(request)) {
        const task = await findTask(db, accountId, id);
        if (!task) throw noSuch('job');
        response.set({ 'preference-applied': 'respond-async', 'x-ht-compat': '1.0' });
        return sendJson(response, 202, generationOf(services, task));
      }
      const task = await finishedTask(services, response, id);
      // The request ends as a stream does if its key was revoked or the server stops.
      if (task === 'closed') response.destroy();
      else await sendModel(services, response, task, form);
    },
  );

  router.get('/:id', async (request, response) => {
    const task = await findTask(db, callerOf(response).accountId, request.params.id);
    if (!task) throw noSuch('job');
    response.set('x-ht-compat', '1.0');
    sendJson(response, 200, generationOf(services, task));
  });

  return router;
}

/** Returns the images of a request, as the `input` of a job, and the `response_format`. */
function readPhotos(request: Request): { input: unknown; format?: string | null | undefined } {
  if (Buffer.isBuffer(request.body)) return { input: inputOf({ front: request.body.toString('base64') }) };
  const body = validated(Generation.safeParse(request.body));
  const [front, left, back, right] = body.image_urls ?? body.images ?? [];
  const image = body.image_url ?? body.image ?? { front, left, back, right };
  return { input: inputOf(typeof image === 'string' ? { front: image } : image), format: body.response_format };
}

/** An empty image of another side counts as none. */
function inputOf({ front, ...others }: z.infer<typeof Sides>) {
  if (!front) throw new HttpError(400, 'invalid_request', 'image: missing; send a URL, a data URI or base64');
  const views = Object.entries(others).flatMap(([side, image]) => (image ? [[side, imageUrl(image)]] : []));
  return { image_urls: [imageUrl(front)], ...(views.length > 0 && { views: Object.fromEntries(views) }) };
}

/**
 * Makes an idempotency key from the photos of a job. Clients try again when a connection ends, and few send a key: an
 * identical request joins the unfinished job of the first one. Once that is finished, the key is free for another job.
 */
async function keyOfInput(
  { jobStores }: Dependencies,
  accountId: string,
  { input }: CreateJobRequest,
): Promise<string> {
  const key = `compat:${createHash('sha256').update(JSON.stringify(input)).digest('base64url')}`;
  await jobStores.commits.run((trx) => releaseKey(trx, accountId, key), accountId);
  return key;
}

/** Waits for the end of a job. Resolves with `closed` if the client has left, or may not wait any longer. */
async function finishedTask(
  { db, eventFeed }: Dependencies,
  response: Response,
  id: string,
): Promise<TaskRow | 'closed' | undefined> {
  const caller = callerOf(response);
  const watch = eventFeed.subscribe(caller);
  response.once('close', watch.close);
  try {
    for (;;) {
      if (response.closed || watch.isEnded) return 'closed';
      const task = await findTask(db, caller.accountId, id);
      if (!task || isTerminal(task.status)) return task;
      await watch.changed(maxPauseMs);
      await nextTurn();
    }
  } finally {
    response.off('close', watch.close);
    watch.close();
  }
}

async function sendModel(
  { assetsUrl, files, shares }: Dependencies,
  response: Response,
  task: TaskRow | undefined,
  form: Form,
): Promise<void> {
  const key = task?.model_key ?? undefined;
  if (!task || key === undefined) {
    const code = task?.error_code ?? 'canceled';
    return sendJson(response, 422, { error: { code, message: task?.error_message ?? 'The job was canceled' } });
  }
  const created = Math.floor(task.created_at / 1_000);
  if (form === 'url') {
    return sendJson(response, 200, { id: task.id, created, data: [{ url: assetUrl(assetsUrl(), key) }] });
  }
  await inTurn(shares.files, callerOf(response).accountId, response, async () => {
    const model = await files.assets.open(key);
    if (!model) throw new HttpError(404, 'not_found', 'The model is no longer stored');
    const { bytes, size } = model;
    if (form === 'glb') {
      response.writeHead(200, { 'content-type': 'model/gltf-binary', 'content-length': size });
      return sendStream(bytes, response);
    }
    const [start, end] = JSON.stringify({ id: task.id, created, data: [{ b64_json: '' }] }).split(/(?<=b64_json":")/);
    const length = start!.length + 4 * Math.ceil(size / 3) + end!.length;
    response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': length });
    await sendStream(Readable.from(inBase64(start!, bytes, end!)), response);
  });
}

/** Sends at the client's pace. A client that disconnects is not an error. */
function sendStream(bytes: Readable, response: Response): Promise<void> {
  return pipeline(bytes, response).catch(() => {});
}

async function* inBase64(start: string, bytes: AsyncIterable<Buffer>, end: string): AsyncGenerator<string> {
  yield start;
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of bytes) {
    const whole = Buffer.concat([rest, chunk]);
    // Three bytes become four characters.
    const length = whole.length - (whole.length % 3);
    yield whole.toString('base64', 0, length);
    rest = whole.subarray(length);
  }
  yield rest.toString('base64') + end;
}

const generationStatus = {
  PENDING: 'queued',
  QUEUED: 'queued',
  IN_PROGRESS: 'processing',
  SUCCEEDED: 'completed',
  FAILED: 'failed',
  CANCELED: 'failed',
} as const;

/** Describes a job as HT-compat 1.0 does. */
function generationOf({ assetsUrl, config }: Dependencies, task: TaskRow) {
  const { id, status, model_key, thumbnail_key, error_code, error_message } = task;
  const url = (key: string) => assetUrl(assetsUrl(), key);
  return {
    id,
    object: '3d.generation',
    created: Math.floor(task.created_at / 1_000),
    model: modelBundle(config),
    status: generationStatus[status],
    ...(model_key !== null && {
      data: [
        {
          url: url(model_key),
          format: 'glb',
          ...(thumbnail_key !== null && { preview_image_url: url(thumbnail_key) }),
        },
      ],
    }),
    ...(generationStatus[status] === 'failed' && {
      error: {
        message: error_message ?? 'The job was canceled',
        type: 'generation_error',
        code: error_code ?? 'canceled',
      },
    }),
  };
}

/** Lists the bundle that makes the models, which is how clients of other servers find one. */
function modelRoutes({ config }: Pick<Services, 'config'>): Router {
  return Router().get('/', (_request, response) => {
    const model = { id: modelBundle(config), object: 'model', owned_by: 'gen3d', capabilities: ['3d'] };
    sendJson(response, 200, { object: 'list', data: [model] });
  });
}
