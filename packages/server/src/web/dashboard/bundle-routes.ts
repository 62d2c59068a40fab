import { isStorable, notStorable } from '@gen3d/schema';
import { Router } from 'express';
import { z } from 'zod';
import { sendJson, validated } from '../answers/responses.js';
import { jsonBody } from '../guards/json-body.js';
import type { Services } from '../routes/services.js';
import { auditRequest } from './audit-request.js';

const Named = z.object({ name: z.string().min(1).max(200).refine(isStorable, notStorable) });

const nameIn = (body: unknown): string => validated(Named.safeParse(body)).name;

/**
 * Serves `/dashboard/api/operator/bundles`: the bundles of this machine. Its responses are `BundleOverview`. Bundles
 * are files, which no transaction includes, so each action is recorded before it is tried.
 */
export function bundleRoutes(services: Pick<Services, 'db' | 'bundleManager' | 'bodyBudget'>): Router {
  const { bundleManager, db } = services;
  const router = Router();
  router.get('/', async (_request, response) => sendJson(response, 200, await bundleManager.overview()));
  router.post('/pull', jsonBody(services), async (request, response) => {
    const name = nameIn(request.body);
    await auditRequest(response, db, { action: 'bundle pull', subject: name });
    await bundleManager.pull(name);
    sendJson(response, 202, await bundleManager.overview());
  });

  router.delete('/pull', async (_request, response) => {
    await auditRequest(response, db, { action: 'bundle cancel' });
    bundleManager.cancelPull();
    sendJson(response, 200, await bundleManager.overview());
  });

  router.post('/use', jsonBody(services), async (request, response) => {
    const name = nameIn(request.body);
    await auditRequest(response, db, { action: 'bundle use', subject: name });
    await bundleManager.use(name);
    sendJson(response, 200, await bundleManager.overview());
  });
  return router;
}
