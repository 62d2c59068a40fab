import { Router } from 'express';
import { currentTime } from '../db/time.js';
import { callerOf, refuseSandbox } from '../http/auth.js';
import { HttpError } from '../http/errors.js';
import { onlyMethods } from '../http/only-methods.js';
import { sendJson } from '../http/send-json.js';
import type { Services } from '../http/services.js';
import { replayDeadLetters } from '../webhooks/dead-letters.js';
import { eventsOfAccount } from './events.js';

/** `/dashboard/api/events`: what the webhook endpoint has not received, and sending it again. */
export function eventRoutes({ db, endpoints }: Services): Router {
  const router = Router();
  router.use(refuseSandbox);

  router
    .route('/')
    .get(async (_request, response) => {
      const { accountId } = callerOf(response);
      const configured = (await endpoints.find(accountId)) !== undefined;
      sendJson(response, 200, { configured, events: await eventsOfAccount(db, accountId) });
    })
    .all(onlyMethods('GET'));

  router
    .route('/:id/replay')
    .post(async (request, response) => {
      const dead = await db
        .selectFrom('outbox')
        .select('event_id')
        .where('event_id', '=', request.params.id)
        .where('account_id', '=', callerOf(response).accountId)
        .where('dead_at', 'is not', null)
        .executeTakeFirst();
      if (!dead) throw new HttpError(404, 'not_found', 'No such dead letter');
      const replayed = await replayDeadLetters(db, { eventId: dead.event_id }, currentTime(db));
      if (replayed === 0)
        throw new HttpError(409, 'not_configured', 'No webhook endpoint is configured: set one first');
      sendJson(response, 202, { queued: true });
    })
    .all(onlyMethods('POST'));
  return router;
}
