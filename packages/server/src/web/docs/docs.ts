import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import express, { Router } from 'express';

/** Pages without a script: nothing but this server's style sheet, and no place to send anything to. */
const contentSecurityPolicy =
  "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** By package name, as the dashboard's. Undefined when the pages are not built. */
function builtDocs(): string | undefined {
  try {
    return join(dirname(createRequire(import.meta.url).resolve('@gen3d/server/dashboard')), 'docs');
  } catch {
    return undefined;
  }
}

/**
 * The documentation for users of this server: the API at `/docs`, the other pages below it. No key: it says nothing of
 * what is on this server.
 */
export function docs(): Router {
  const router = Router();
  const folder = builtDocs();
  if (folder === undefined) return router;
  router.use((_request, response, next) => {
    response.set({ 'content-security-policy': contentSecurityPolicy, 'cache-control': 'no-cache' });
    next();
  });
  // With a root: a whole path with a folder like pnpm's `.pnpm` in it counts as hidden and is refused.
  router.get('/', (_request, response) => response.sendFile('api.html', { root: folder, cacheControl: false }));
  router.use(express.static(folder, { index: false, redirect: false, extensions: ['html'], cacheControl: false }));
  return router;
}
