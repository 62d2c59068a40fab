import express, { type ErrorRequestHandler, type RequestHandler, Router } from 'express';
import { HttpError, noSuch } from '../answers/responses.js';
import { cors } from '../guards/cors.js';

/** Viewers in browsers load models from other origins, and in parts. */
const openCors = cors({
  methods: ['GET', 'HEAD'],
  requestHeaders: ['Range', 'If-None-Match', 'If-Range'],
  responseHeaders: ['Accept-Ranges', 'Content-Length', 'Content-Range', 'ETag'],
});

/** Lets pages that use cross-origin isolation embed assets without CORS, such as in an `<img>`. */
const embeddable: RequestHandler = (_request, response, next) => {
  response.setHeader('cross-origin-resource-policy', 'cross-origin');
  next();
};

/** Answers a range beyond the end of the file with 416 and the file's size, as RFC 9110 requires. */
const unsatisfiableRange: ErrorRequestHandler = (error, _request, response, next) => {
  if (error?.status !== 416) return next(error);
  response
    .status(416)
    .set(error.headers ?? {})
    .end();
};

const notFound: RequestHandler = () => {
  throw noSuch('file');
};

/** Matches the path of an asset; see assets/asset-store.ts. */
const assetPath = /^\/\w+\/[\w-]+\/(model\.glb|thumbnail\.(jpg|webp))$/;

/** Refuses to serve other files that may be in the folder. */
const assetsOnly: RequestHandler = (request, _response, next) => {
  if (!assetPath.test(request.path)) throw noSuch('file');
  next();
};

interface Deletions {
  /** Whether a job had a model and was deleted. */
  isGone: (jobId: string) => Promise<boolean>;
  /** Whether the job's account was deleted, and its files perhaps not yet. */
  isErased: (jobId: string) => Promise<boolean>;
}

/** Responds with 410 to requests for files of jobs that were deleted. */
const goneIf =
  (wasDeleted: (jobId: string) => Promise<boolean>): RequestHandler =>
  async (request, _response, next) => {
    const [, jobId = ''] = request.path.split('/');
    if (assetPath.test(request.path) && (await wasDeleted(jobId))) {
      throw new HttpError(410, 'not_found', 'This model was deleted');
    }
    next();
  };

/** Without the database, finished models are still served. */
const goneIfErased = ({ isErased }: Deletions) => goneIf((jobId) => isErased(jobId).catch(() => false));

/** Serves finished models without a key or a listing. The content of a URL never changes. */
export function assetRoutes(folder: string, deletions: Deletions): Router {
  const router = Router();
  router.use(
    embeddable,
    openCors,
    assetsOnly,
    goneIfErased(deletions),
    express.static(folder, { dotfiles: 'ignore', index: false, redirect: false, immutable: true, maxAge: '365d' }),
    goneIf(deletions.isGone),
    notFound,
    unsatisfiableRange,
  );
  return router;
}

/**
 * Redirects the URLs of finished models from before they moved to another location, since those URLs are permanent,
 * too. Does not check that the file exists there, but deleted models are not redirected.
 */
export function movedAssetRoutes(assetsUrl: () => string, deletions: Deletions): Router {
  const router = Router();
  const redirect: RequestHandler = (request, response, next) => {
    if (!/^(GET|HEAD)$/.test(request.method) || !assetPath.test(request.path)) return next();
    const target = new URL(assetsUrl() + request.path);
    // Avoid a redirect loop, which would hide that the gateway does not lead this URL to the bucket.
    if (target.host === request.get('host') && target.pathname === request.baseUrl + request.path) return next();
    // Limited, because the models may move again.
    response.set('cache-control', 'public, max-age=3600').redirect(302, target.href);
  };
  router.use(embeddable, openCors, goneIfErased(deletions), goneIf(deletions.isGone), redirect, notFound);
  return router;
}
