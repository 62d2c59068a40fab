import {
  PutWebhookEndpointRequest,
  type PutWebhookEndpointResponse,
  type RotateSecretResponse,
  type TestWebhookResponse,
  type WebhookEndpoint,
} from '@gen3d/schema';
import { endpointHealthHeaders } from '@gen3d/schema/rules';
import { Router } from 'express';
import { isPublicAddress, literalAddress } from '../../base/net/address.js';
import { currentTime } from '../../data/db/time.js';
import { recordPing } from '../../data/webhooks/events.js';
import { HttpError, sendJson, validated } from '../answers/responses.js';
import { callerOf, refuseSandbox } from '../guards/auth.js';
import { jsonBody } from '../guards/json-body.js';
import { changeInTurn } from '../guards/shares.js';
import type { Services } from './services.js';

const notConfigured = (status: 404 | 409) =>
  new HttpError(status, 'not_configured', 'No webhook endpoint is configured; set one with PUT /v1/webhook-endpoint');

/** Serves `/v1/webhook-endpoint` (docs/contract.md sections 4.5 to 4.9). */
export function webhookEndpointRoutes(services: Pick<Services, 'db' | 'endpoints' | 'config' | 'shares'>): Router {
  const { db, endpoints, config, shares } = services;
  const router = Router();
  router.use(refuseSandbox);

  router.put('/', jsonBody(services), async (request, response) => {
    const { url, events } = validated(PutWebhookEndpointRequest.safeParse(request.body));
    // A host name is checked at each delivery, when it resolves. An IP address can be checked now.
    const literal = literalAddress(new URL(url).hostname);
    if (literal && !config.allowPrivateNetwork && !isPublicAddress(literal))
      throw new HttpError(400, 'invalid_request', 'url: must not point to a private address');
    const put = (accountId: string) => endpoints.put(accountId, url, currentTime(db), events);
    const endpoint = await changeInTurn(shares, response, put);
    sendJson(response, 200, endpoint satisfies PutWebhookEndpointResponse);
  });

  router.get('/', async (_request, response) => {
    const endpoint = await endpoints.find(callerOf(response).accountId);
    if (!endpoint) throw notConfigured(404);
    const { health, ...body } = endpoint;
    response.set(endpointHealthHeaders(health));
    sendJson(response, 200, body satisfies WebhookEndpoint);
  });

  router.delete('/', async (_request, response) => {
    await changeInTurn(shares, response, (accountId) => endpoints.remove(accountId));
    response.status(204).end();
  });

  router.post('/rotate', async (_request, response) => {
    const secret = await changeInTurn(shares, response, (accountId) => endpoints.rotate(accountId));
    if (secret === undefined) throw notConfigured(404);
    sendJson(response, 200, { secret } satisfies RotateSecretResponse);
  });

  router.post('/test', async (_request, response) => {
    const delayMs = config.webhookPingDelay * 1_000;
    const ping = (accountId: string) => recordPing(db, accountId, delayMs, currentTime(db));
    const queued = await changeInTurn(shares, response, ping);
    if (!queued) throw notConfigured(409);
    sendJson(response, 202, { queued } satisfies TestWebhookResponse);
  });

  return router;
}
