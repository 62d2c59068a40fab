import { isStorable, notStorable } from '@gen3d/schema';
import { Router } from 'express';
import { z } from 'zod';
import { BundleRefusal } from '../../work/bundles/bundle-manager.js';
import { jsonBody } from '../http/json-body.js';
import { HttpError, invalidRequest, onlyMethods, sendJson } from '../http/responses.js';
import type { Services } from '../http/services.js';
import { auditRequest } from './audit-routes.js';

const Named = z.object({ name: z.string().min(1).max(200).refine(isStorable, notStorable) });

function nameIn(body: unknown): string {
  const parsed = Named.safeParse(body);
  if (!parsed.success) throw invalidRequest(parsed.error);
  return parsed.data.name;
}

async function asHttpError(action: Promise<void>): Promise<void> {
  await action.catch((error: unknown) => {
    throw error instanceof BundleRefusal ? new HttpError(400, 'invalid_request', error.message) : error;
  });
}

/**
 * Serves `/dashboard/api/operator/bundles`: the bundles of this machine. Its responses are `BundleOverview`. Bundles
 * are files, which no transaction includes, so each action is recorded before it is tried.
 */
export function bundleRoutes(services: Services): Router {
  const { bundleManager, db } = services;
  const router = Router();
  router
    .route('/')
    .get(async (_request, response) => sendJson(response, 200, await bundleManager.overview()))
    .all(onlyMethods('GET'));
  router
    .route('/pull')
    .post(jsonBody(services), async (request, response) => {
      const name = nameIn(request.body);
      await auditRequest(response, db, { action: 'bundle pull', subject: name });
      await asHttpError(bundleManager.pull(name));
      sendJson(response, 202, await bundleManager.overview());
    })
    .delete(async (_request, response) => {
      await auditRequest(response, db, { action: 'bundle cancel' });
      bundleManager.cancelPull();
      sendJson(response, 200, await bundleManager.overview());
    })
    .all(onlyMethods('POST', 'DELETE'));
  router
    .route('/use')
    .post(jsonBody(services), async (request, response) => {
      const name = nameIn(request.body);
      await auditRequest(response, db, { action: 'bundle use', subject: name });
      await asHttpError(bundleManager.use(name));
      sendJson(response, 200, await bundleManager.overview());
    })
    .all(onlyMethods('POST'));
  return router;
}
