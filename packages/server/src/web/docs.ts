import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { escapeHtml } from '@gen3d/schema';
import { openApiDocument } from '@gen3d/schema/openapi';
import express, { type RequestHandler, Router } from 'express';
import type { Config } from '../config.js';

/** Restricts the pages: they have no scripts and no forms, and load only this server's style sheet and pictures. */
const contentSecurityPolicy =
  "default-src 'none'; img-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The examples in docs/ use this address. */
const exampleAddress = 'http://127.0.0.1:8787';

/** Finds the pages by their package's name, as the dashboard's. Undefined if they are not built. */
function docsFolder(): string | undefined {
  try {
    return join(dirname(createRequire(import.meta.url).resolve('@gen3d/server/dashboard')), 'docs');
  } catch {
    return undefined;
  }
}

/**
 * Serves the documentation for users of this server: the API at `/docs`, the other pages below it. It needs no key,
 * because it contains no data of this server. Its examples name the address at which the reader reached the server.
 */
export function docs({ publicUrl }: Pick<Config, 'publicUrl'>): Router {
  const router = Router();
  const folder = docsFolder();
  if (folder === undefined) return router;
  router.use((_request, response, next) => {
    response.set({ 'content-security-policy': contentSecurityPolicy, 'cache-control': 'no-cache' });
    next();
  });
  const pages = new Map(
    readdirSync(folder)
      .filter((file) => file.endsWith('.html'))
      .map((file) => [file.slice(0, -'.html'.length), readFileSync(join(folder, file), 'utf8')]),
  );
  router.get(['/', '/:page'], ({ path, protocol, headers: { host } }, response, next) => {
    const page = pages.get(path.slice(1) || 'api');
    if (page === undefined) return next();
    const address = publicUrl ?? `${protocol}://${host}`;
    // The host of a valid URL may contain quotes, and also $', which `replaceAll` would replace with a copy of the
    // page if a function did not return the host.
    const origin = escapeHtml(new URL(URL.canParse(address) ? address : exampleAddress).origin);
    response.type('html').send(page.replaceAll(exampleAddress, () => origin));
  });
  router.use(express.static(folder, { index: false, redirect: false, cacheControl: false }));
  return router;
}

/** Serves the OpenAPI document. It needs no key and allows every origin, so that documentation viewers can load it. */
export function openApi(): RequestHandler {
  const document = JSON.stringify(openApiDocument());
  return (_request, response) => {
    response
      .set({ 'access-control-allow-origin': '*', 'cross-origin-resource-policy': 'cross-origin' })
      .type('json')
      .send(document);
  };
}
