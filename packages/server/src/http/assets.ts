import express, { type ErrorRequestHandler, type RequestHandler, Router } from 'express';
import { HttpError } from './errors.js';

/** Read from any page: a viewer in a browser loads models cross-origin, and part by part. */
const open: RequestHandler = (request, response, next) => {
  response.set({
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'Accept-Ranges, Content-Length, Content-Range, ETag',
    'cross-origin-resource-policy': 'cross-origin',
  });
  if (request.method !== 'OPTIONS') return next();
  response
    .set({
      'access-control-allow-methods': 'GET, HEAD',
      'access-control-allow-headers': 'Range, If-None-Match, If-Range',
      'access-control-max-age': '86400',
    })
    .status(204)
    .end();
};

/** A part beyond the end of the file: 416 with its size, as a reader of ranges expects. */
const unsatisfiableRange: ErrorRequestHandler = (error, _request, response, next) => {
  if (error?.status !== 416) return next(error);
  response
    .status(416)
    .set(error.headers ?? {})
    .end();
};

/**
 * The finished models: no key, no listing, content that never changes under its URL. Names that start with a dot are files
 * still being written, and are not there yet.
 */
export function assetRoutes(folder: string): Router {
  const router = Router();
  router.use(
    open,
    express.static(folder, { dotfiles: 'ignore', index: false, redirect: false, immutable: true, maxAge: '365d' }),
    () => {
      throw new HttpError(404, 'not_found', 'No such file');
    },
    unsatisfiableRange,
  );
  return router;
}
