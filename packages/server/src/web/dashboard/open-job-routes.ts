import type { OpenJobPage } from '@gen3d/schema/dashboard';
import { Router } from 'express';
import { isoTime } from '../../base/time.js';
import { currentTime } from '../../data/db/time.js';
import { transaction } from '../../data/db/transaction.js';
import { openJobsByAccount } from '../../data/jobs/counts.js';
import { cancel } from '../../data/jobs/lifecycle.js';
import { HttpError, onlyMethods, sendJson } from '../http/responses.js';
import type { Services } from '../http/services.js';
import { auditRequest, operatorCursors } from './audit-routes.js';

const pageSize = 50;

/** Serves `/dashboard/api/operator/jobs`: the unfinished jobs of all accounts. */
export function openJobRoutes({ db, cursors }: Services): Router {
  const router = Router();
  router
    .route('/')
    .get(async (request, response) => {
      const after = await cursors.read(operatorCursors, request.query.cursor);
      const { rows, more } = await openJobsByAccount(db, {
        after: after && { id: after.id, accountId: after.label },
        limit: pageSize,
      });
      const last = rows.at(-1);
      sendJson(response, 200, {
        jobs: rows.map(({ id, account_id, name, label, status, progress, created_at }) => ({
          task_id: id,
          account: { account_id, name },
          label,
          status,
          progress,
          created_at: isoTime(created_at),
        })),
        ...(more && last ? { next_cursor: cursors.issue(operatorCursors, last.id, last.account_id) } : {}),
      } satisfies OpenJobPage);
    })
    .all(onlyMethods('GET'));

  router
    .route('/:id/cancel')
    .post(async (request, response) => {
      const { id } = request.params;
      const outcome = await transaction(db, async (trx) => {
        const canceled = await cancel(trx, id, currentTime(db));
        if (canceled === 'canceled') await auditRequest(response, trx, { action: 'job cancel', subject: id });
        return canceled;
      });
      if (outcome === 'unknown') throw new HttpError(404, 'not_found', 'No such job');
      if (outcome === 'too_late') throw new HttpError(409, 'not_cancelable', 'The job is finished already');
      response.status(204).end();
    })
    .all(onlyMethods('POST'));
  return router;
}
