import type { EventList, LastDelivery } from '@gen3d/schema/dashboard';
import { Router } from 'express';
import { currentTime } from '../../data/db/time.js';
import { replayDeadLetters } from '../../data/webhooks/dead-letters.js';
import { findDelivery, lastAttempt, listEvents } from '../../data/webhooks/event-log.js';
import { eventBody } from '../../work/webhooks/post-event.js';
import { HttpError, noSuch, sendJson } from '../answers/responses.js';
import { callerOf, refuseSandbox } from '../guards/auth.js';
import { changeInTurn, listInTurn } from '../guards/shares.js';
import type { Services } from '../routes/services.js';

/** Serves `/dashboard/api/events`: lists an account's webhook events, shows deliveries, and replays dead letters. */
export function eventRoutes({
  db,
  endpoints,
  shares,
  assetsUrl,
}: Pick<Services, 'db' | 'endpoints' | 'shares' | 'assetsUrl'>): Router {
  const router = Router();
  router.use(refuseSandbox);

  router.get('/', async (request, response) => {
    const endpoint = await endpoints.find(callerOf(response).accountId);
    const undelivered = request.query.undelivered === 'true';
    const list = (accountId: string) => listEvents(db, accountId, { undelivered });
    const events = await listInTurn(shares, response, list);
    sendJson(response, 200, {
      configured: endpoint !== undefined,
      health: endpoint?.health ?? {},
      events,
    } satisfies EventList);
  });

  router.get('/:id/delivery', async (request, response) => {
    const found = await findDelivery(db, callerOf(response).accountId, request.params.id);
    if (!found) throw new HttpError(404, 'not_found', 'No such event, or its log has been deleted');
    sendJson(response, 200, { delivery: lastAttempt(found, eventBody(found, assetsUrl())) } satisfies LastDelivery);
  });

  router.post('/:id/replay', async (request, response) => {
    const { id } = request.params;
    const found = await findDelivery(db, callerOf(response).accountId, id);
    if (found?.state !== 'dead') throw noSuch('dead letter');
    const replay = () => replayDeadLetters(db, { eventId: id }, currentTime(db));
    const replayed = await changeInTurn(shares, response, replay);
    if (replayed === 0) throw new HttpError(409, 'not_configured', 'No webhook endpoint is configured; set one first');
    sendJson(response, 202, { queued: true });
  });
  return router;
}
