import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import express, { type RequestHandler, Router } from 'express';
import { z } from 'zod';
import type { Services } from '../http/services.js';

const hashes = z.array(z.string().regex(/^sha256-[\w+/=]+$/));

/** By package name, so that it is found from the built package and from the sources alike. Undefined when it is not built. */
function builtPages(): string | undefined {
  try {
    return createRequire(import.meta.url).resolve('@gen3d/server/dashboard');
  } catch {
    return undefined;
  }
}

/**
 * What the pages may load: what this server serves, and nothing inline. `blob:` is where model-viewer (three.js) unpacks a
 * GLB's textures before it decodes them, and how a photo is shown before it is sent; assets may lie on another host.
 * No workers and no WebAssembly: these would be for Draco, KTX2 and meshopt, which our GLBs do not use. The one style element
 * of model-viewer's shadow root is let in by the hash of its text, which the build has taken.
 */
function contentSecurityPolicy(assetsUrl: string, styleHashes: readonly string[]): string {
  const assets = new URL(assetsUrl).origin;
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' ${styleHashes.map((hash) => `'${hash}'`).join(' ')}`,
    `img-src 'self' blob: ${assets}`,
    `connect-src 'self' blob: ${assets}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** A person's browser opening a page. Programs ask for any type, or for JSON, and meet the gateway. */
const isBrowsing = (accept: string | undefined) => accept?.includes('text/html') === true;

/**
 * The pages, at `/` and below `/dashboard`. They hold nothing secret: what they show they ask the API for. `/` is theirs
 * only when a browser opens it, so that it stays 403 for a program without a key, as everything is that is not there.
 */
export function pageRoutes({ assetsUrl, log }: Services): Router {
  const router = Router();
  const indexFile = builtPages();
  if (indexFile === undefined) {
    log.warn('the dashboard is off: this build carries no pages');
    return router;
  }
  const folder = dirname(indexFile);
  const styleHashes = hashes.parse(JSON.parse(readFileSync(join(folder, 'style-hashes.json'), 'utf8')));
  const page: RequestHandler = (_request, response) => {
    response.set({
      'content-security-policy': contentSecurityPolicy(assetsUrl(), styleHashes),
      'cache-control': 'no-cache',
      vary: 'accept',
    });
    // Express sets its own caching headers unless told not to. With a root, since a whole path with a folder like pnpm's
    // `.pnpm` in it counts as hidden and is refused.
    response.sendFile(basename(indexFile), { root: folder, cacheControl: false });
  };
  router.get('/', (request, response, next) => {
    if (isBrowsing(request.headers.accept)) page(request, response, next);
    else next('router');
  });
  router.use(
    '/dashboard/files',
    express.static(`${folder}/files`, { index: false, redirect: false, immutable: true, maxAge: '365d' }),
  );
  router.get(['/dashboard', '/dashboard/*page'], page);
  return router;
}
