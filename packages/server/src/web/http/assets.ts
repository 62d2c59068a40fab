import express, { type ErrorRequestHandler, type RequestHandler, Router } from 'express';
import { anyOrigin } from './any-origin.js';
import { HttpError } from './errors.js';

/** Read from any page: a viewer in a browser loads models cross-origin, and part by part. */
const open = anyOrigin({
  methods: ['GET', 'HEAD'],
  requestHeaders: ['Range', 'If-None-Match', 'If-Range'],
  responseHeaders: ['Accept-Ranges', 'Content-Length', 'Content-Range', 'ETag'],
});

/** Loaded without CORS too, as an `<img>` of a page that isolates itself is. */
const embeddable: RequestHandler = (_request, response, next) => {
  response.setHeader('cross-origin-resource-policy', 'cross-origin');
  next();
};

/** A part beyond the end of the file: 416 with its size, as a reader of ranges expects. */
const unsatisfiableRange: ErrorRequestHandler = (error, _request, response, next) => {
  if (error?.status !== 416) return next(error);
  response
    .status(416)
    .set(error.headers ?? {})
    .end();
};

const noSuchFile = () => new HttpError(404, 'not_found', 'No such file');

const notFound: RequestHandler = () => {
  throw noSuchFile();
};

/** The path of an asset: see assets/store.ts. */
const assetPath = /^\/\w+\/[\w-]+\/(model\.glb|thumbnail\.jpg)$/;

/** Whatever else may be in the folder, only assets are served. */
const assetsOnly: RequestHandler = (request, _response, next) => {
  if (!assetPath.test(request.path)) throw noSuchFile();
  next();
};

/** The finished models: no key, no listing, content that never changes under its URL. */
export function assetRoutes(folder: string): Router {
  const router = Router();
  router.use(
    embeddable,
    open,
    assetsOnly,
    express.static(folder, { dotfiles: 'ignore', index: false, redirect: false, immutable: true, maxAge: '365d' }),
    notFound,
    unsatisfiableRange,
  );
  return router;
}

/**
 * Where the finished models were before they moved to another address: the URLs handed out then are permanent too. Whether
 * there is such a file is the other place's to say.
 */
export function movedAssetRoutes(assetsUrl: () => string): Router {
  const router = Router();
  const redirect: RequestHandler = (request, response, next) => {
    if (!/^(GET|HEAD)$/.test(request.method) || !assetPath.test(request.path)) return next();
    const target = new URL(assetsUrl() + request.path);
    // A gateway was to lead this address to the bucket and does not: a circle would hide that.
    if (target.host === request.get('host') && target.pathname === request.baseUrl + request.path) return next();
    // Not for ever: they may move again.
    response.set('cache-control', 'public, max-age=3600').redirect(302, target.href);
  };
  router.use(embeddable, open, redirect, notFound);
  return router;
}
