import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { escapeHtml } from '@gen3d/schema';
import express, { type RequestHandler, Router } from 'express';
import { z } from 'zod';
import { findPublicPage } from '../../data/jobs/public-pages.js';
import { assetUrl } from '../../data/jobs/task.js';
import { HttpError } from '../answers/responses.js';
import type { RouteGroup } from '../mount.js';
import type { Services } from '../routes/services.js';

const StyleHashes = z.array(z.string().regex(/^sha256-[\w+/=]+$/));

/** Finds the index page by its package's name, both in the built package and in the sources. Undefined if not built. */
function indexPage(): string | undefined {
  try {
    return createRequire(import.meta.url).resolve('@gen3d/server/dashboard');
  } catch {
    return undefined;
  }
}

/**
 * The pages may load files of this server, and nothing inline. `blob:` URLs show a photo before it is sent, and
 * model-viewer (three.js) decodes a GLB's textures from them. Assets may be on another host. WebAssembly is forbidden:
 * model-viewer needs it only for Draco, KTX2 and meshopt, which our GLBs do not use. The hash allows the only style
 * element of model-viewer's shadow root; the dashboard's build computes it.
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

/** Applies to the worker that decodes photos, some of them with WebAssembly. The page's policy does not apply to it. */
const workerSecurityPolicy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'";

/** Whether a browser is opening a page. Programs accept any type, or JSON. */
const isNavigation = (accept: string | undefined) => accept?.includes('text/html') === true;

/**
 * Lists the routes of the pages, at `/` and below `/dashboard`. They contain no data, but load it from the routes. The
 * page of a shared model, below `/share`, contains only that model. `/` is a page only for browsers, so that a program
 * without a key gets 403 there, as on every unknown route.
 */
export function pageRoutes({
  assetsUrl,
  db,
  log,
}: Pick<Services, 'assetsUrl' | 'db' | 'log'>): RouteGroup<'page' | 'anyone'>[] {
  const [front, share, dashboard] = [Router(), Router(), Router()];
  const indexFile = indexPage();
  if (indexFile === undefined) {
    log.warn('the dashboard is disabled: this build does not contain its pages');
    return [];
  }
  const folder = dirname(indexFile);
  const styleHashes = StyleHashes.parse(JSON.parse(readFileSync(join(folder, 'style-hashes.json'), 'utf8')));
  const page: RequestHandler = (_request, response) => {
    response.set({
      'content-security-policy': contentSecurityPolicy(assetsUrl(), styleHashes),
      'cache-control': 'no-cache',
      vary: 'accept',
    });
    // `cacheControl: false` keeps the header above. The root is needed: Express refuses an absolute path with a hidden
    // folder, such as pnpm's `.pnpm`.
    response.sendFile(basename(indexFile), { root: folder, cacheControl: false });
  };
  const sharePage = readFileSync(join(folder, 'share.html'), 'utf8');
  share.get('/:token', async (request, response) => {
    const share = await findPublicPage(db, request.params.token);
    if (!share) throw new HttpError(404, 'not_found', 'This model is not shared, or not any more');
    const fields = {
      title: share.title,
      glb: assetUrl(assetsUrl(), share.modelKey),
      thumbnail: assetUrl(assetsUrl(), share.thumbnailKey),
    };
    response.set({
      'content-security-policy': contentSecurityPolicy(assetsUrl(), styleHashes),
      'cache-control': 'no-store',
      'x-robots-tag': 'noindex',
    });
    response
      .type('html')
      .send(
        sharePage.replace(/\{\{(title|glb|thumbnail)\}\}/g, (_, name: keyof typeof fields) => escapeHtml(fields[name])),
      );
  });
  front.get('/', (request, response, next) => {
    if (isNavigation(request.headers.accept)) page(request, response, next);
    else next('router');
  });
  dashboard.use(
    '/files',
    express.static(`${folder}/files`, {
      index: false,
      redirect: false,
      immutable: true,
      maxAge: '365d',
      setHeaders: (response) => response.setHeader('content-security-policy', workerSecurityPolicy),
    }),
  );
  dashboard.get(['/', '/*page'], page);
  return [
    { at: '/', who: 'page', routes: front },
    { at: '/share', who: 'anyone', routes: share },
    { at: '/dashboard', who: 'anyone', routes: dashboard },
  ];
}
