import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { openApiDocument } from '@gen3d/schema/openapi';
import express, { type RequestHandler, Router } from 'express';

/** The pages have no scripts and no forms, and load only this server's style sheet. */
const contentSecurityPolicy =
  "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Found by package name, like the dashboard's pages. Undefined if they are not built. */
function docsFolder(): string | undefined {
  try {
    return join(dirname(createRequire(import.meta.url).resolve('@gen3d/server/dashboard')), 'docs');
  } catch {
    return undefined;
  }
}

/**
 * Documentation for users of this server: the API at `/docs`, the other pages below it. It needs no key, because it
 * contains no data of this server.
 */
export function docs(): Router {
  const router = Router();
  const folder = docsFolder();
  if (folder === undefined) return router;
  router.use((_request, response, next) => {
    response.set({ 'content-security-policy': contentSecurityPolicy, 'cache-control': 'no-cache' });
    next();
  });
  // The root is needed: Express refuses an absolute path with a hidden folder, such as pnpm's `.pnpm`.
  router.get('/', (_request, response) => response.sendFile('api.html', { root: folder, cacheControl: false }));
  router.use(express.static(folder, { index: false, redirect: false, extensions: ['html'], cacheControl: false }));
  return router;
}

/** The OpenAPI document. It needs no key and allows every origin, so that documentation viewers can load it. */
export function openApi(): RequestHandler {
  const document = JSON.stringify(openApiDocument());
  return (_request, response) => {
    response
      .set({ 'access-control-allow-origin': '*', 'cross-origin-resource-policy': 'cross-origin' })
      .type('json')
      .send(document);
  };
}
