import type { DeliveryList, EventList } from '@gen3d/schema/dashboard';
import { Router } from 'express';
import { currentTime } from '../../data/db/time.js';
import { replayDeadLetters } from '../../data/webhooks/dead-letters.js';
import { findQueued, listDeliveries, listEvents } from '../../data/webhooks/event-log.js';
import { HttpError, noSuch, sendJson } from '../answers/responses.js';
import { callerOf, refuseSandbox } from '../guards/auth.js';
import { inTurn } from '../guards/shares.js';
import type { Services } from '../routes/services.js';

/** Serves `/dashboard/api/events`: lists an account's webhook events and their deliveries, and replays dead letters. */
export function eventRoutes({ db, endpoints, shares }: Pick<Services, 'db' | 'endpoints' | 'shares'>): Router {
  const router = Router();
  router.use(refuseSandbox);

  router.get('/', async (request, response) => {
    const { accountId } = callerOf(response);
    const endpoint = await endpoints.find(accountId);
    const undelivered = request.query.undelivered === 'true';
    const list = () => listEvents(db, accountId, { undelivered });
    const events = await inTurn(shares.lists, accountId, response, list, { rests: true });
    sendJson(response, 200, {
      configured: endpoint !== undefined,
      health: endpoint?.health ?? {},
      events,
    } satisfies EventList);
  });

  router.get('/:id/deliveries', async (request, response) => {
    const { accountId } = callerOf(response);
    const { id } = request.params;
    const deliveries = await listDeliveries(db, accountId, id);
    if (deliveries.length === 0 && !(await findQueued(db, accountId, id))) {
      throw new HttpError(404, 'not_found', 'No such event, or its log has been deleted');
    }
    sendJson(response, 200, { deliveries } satisfies DeliveryList);
  });

  router.post('/:id/replay', async (request, response) => {
    const { id } = request.params;
    const queued = await findQueued(db, callerOf(response).accountId, id);
    if (!queued?.dead_at) throw noSuch('dead letter');
    const replayed = await replayDeadLetters(db, { eventId: id }, currentTime(db));
    if (replayed === 0) throw new HttpError(409, 'not_configured', 'No webhook endpoint is configured; set one first');
    sendJson(response, 202, { queued: true });
  });
  return router;
}
