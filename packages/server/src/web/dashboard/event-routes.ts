import { Router } from 'express';
import { currentTime } from '../../data/db/time.js';
import { replayDeadLetters } from '../../data/webhooks/dead-letters.js';
import { callerOf, refuseSandbox } from '../http/auth.js';
import { HttpError } from '../http/errors.js';
import { onlyMethods } from '../http/only-methods.js';
import { sendJson } from '../http/send-json.js';
import type { Services } from '../http/services.js';
import { deliveriesOf, eventsOf } from './events.js';

/** `/dashboard/api/events`: what was sent to the webhook endpoint and what waits for it, and sending a dead letter again. */
export function eventRoutes({ db, endpoints }: Services): Router {
  const router = Router();
  router.use(refuseSandbox);

  router
    .route('/')
    .get(async (request, response) => {
      const { accountId } = callerOf(response);
      const configured = (await endpoints.find(accountId)) !== undefined;
      const undelivered = request.query.undelivered === 'true';
      sendJson(response, 200, { configured, events: await eventsOf(db, accountId, { undelivered }) });
    })
    .all(onlyMethods('GET'));

  router
    .route('/:id/deliveries')
    .get(async (request, response) => {
      const { accountId } = callerOf(response);
      const { id } = request.params;
      const deliveries = await deliveriesOf(db, accountId, id);
      if (deliveries.length === 0) {
        const waiting = await db
          .selectFrom('outbox')
          .select('event_id')
          .where('event_id', '=', id)
          .where('account_id', '=', accountId)
          .executeTakeFirst();
        if (!waiting) throw new HttpError(404, 'not_found', 'No such event, or its log was deleted');
      }
      sendJson(response, 200, { deliveries });
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
