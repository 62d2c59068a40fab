import type { AuditPage } from '@gen3d/schema/dashboard';
import { type Response, Router } from 'express';
import { isoTime } from '../../base/time.js';
import { type Action, audit, listAudit } from '../../data/accounts/audit-log.js';
import type { Queryable } from '../../data/db/database.js';
import { currentTime } from '../../data/db/time.js';
import { sendJson } from '../answers/responses.js';
import { addressOf } from '../guards/client-address.js';
import type { Services } from '../routes/services.js';
import { identityOf } from './session-routes.js';

/**
 * Records what a request does, if the operator sent it; members act on their own account. Must run in the transaction of
 * the action.
 */
export async function auditRequest(response: Response, trx: Queryable, action: Omit<Action, 'who'>): Promise<void> {
  if (identityOf(response).role !== 'operator') return;
  await audit(trx, { who: `operator at ${addressOf(response.req)}`, ...action }, currentTime(trx));
}

const pageSize = 50;
/** Cursors are issued to an account, and the operator has none. */
export const operatorCursors = 'operator';

/** Serves `/dashboard/api/operator/audit`: what operators did, newest first. */
export function auditRoutes({ db, cursors }: Services): Router {
  const router = Router();
  router.get('/', async (request, response) => {
    const before = (await cursors.read(operatorCursors, request.query.cursor))?.id;
    const { entries, more } = await listAudit(db, { before, limit: pageSize });
    const last = entries.at(-1);
    sendJson(response, 200, {
      entries: entries.map(({ id, created_at, ...entry }) => ({
        entry_id: id,
        ...entry,
        created_at: isoTime(created_at),
      })),
      ...(more && last ? { next_cursor: cursors.issue(operatorCursors, last.id) } : {}),
    } satisfies AuditPage);
  });
  return router;
}
