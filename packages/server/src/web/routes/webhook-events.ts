import type { WebhookEvent } from '@gen3d/schema';
import { Router } from 'express';
import { z } from 'zod';
import { isoTime } from '../../base/time.js';
import { currentTime } from '../../data/db/time.js';
import { pollEvents, TooManyListenersError } from '../../data/webhooks/listeners.js';
import { eventBody } from '../../work/webhooks/post-event.js';
import { HttpError, refuseOtherMethods, sendJson, validated } from '../answers/responses.js';
import { callerOf, refuseSandbox } from '../guards/auth.js';
import { jsonBody } from '../guards/json-body.js';
import type { Services } from './services.js';

const PollRequest = z.object({
  listener: z.string().regex(/^[\w-]{16,64}$/, 'must have 16 to 64 letters, digits, - or _'),
  acknowledged: z.array(z.string().max(26)).max(100).default([]),
});

interface PollResponse {
  events: WebhookEvent[];
  listening_since: string;
  secret: string;
  retry_delays_seconds: readonly number[];
}

/** Serves `POST /gen3d/webhook-events`, which `gen3d webhook listen --forward-to` polls (docs/webhooks.md). */
export function webhookEventRoutes(services: Services): Router {
  const { db, config, assetsUrl, listenerSecret } = services;
  const router = Router();
  router.use(refuseSandbox);

  router.post('/', jsonBody(services), async (request, response) => {
    const { listener, acknowledged } = validated(PollRequest.safeParse(request.body));
    const { accountId } = callerOf(response);
    const { events, since } = await pollEvents(db, accountId, listener, acknowledged, currentTime(db)).catch(
      (error: unknown) => {
        if (!(error instanceof TooManyListenersError)) throw error;
        const message = `${error.message}. Stop one of them, and try again in a minute`;
        throw new HttpError(409, 'too_many_listeners', message);
      },
    );
    // Keeps the request log short: each listener sends a request per second.
    response.locals.isPoll = true;
    sendJson(response, 200, {
      events: events.map((event) => eventBody(event, assetsUrl())),
      listening_since: isoTime(since),
      secret: await listenerSecret(accountId),
      retry_delays_seconds: config.webhookRetryDelays,
    } satisfies PollResponse);
  });

  return refuseOtherMethods(router);
}
