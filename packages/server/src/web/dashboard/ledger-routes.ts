import type { LedgerPage, SpendHistory } from '@gen3d/schema/dashboard';
import { Router } from 'express';
import { toUsd } from '../../base/money.js';
import { dayMs, isoTime } from '../../base/time.js';
import { listLedger, spendOfDay } from '../../data/accounts/ledger.js';
import { callerOf } from '../http/auth.js';
import { onlyMethods, sendJson } from '../http/responses.js';
import type { Services } from '../http/services.js';

const pageSize = 50;
const spendDays = 30;

/** Serves `/dashboard/api/ledger`: the account's ledger, newest entries first, and its spend per day. */
export function ledgerRoutes({ db, cursors, slots }: Services): Router {
  const router = Router();

  router
    .route('/')
    .get(async (request, response) => {
      const { accountId } = callerOf(response);
      const before = await cursors.read(accountId, request.query.cursor);
      const { entries, more } = await listLedger(db, accountId, before?.id, pageSize);
      const last = entries.at(-1);
      sendJson(response, 200, {
        entries: entries.map((row) => ({
          entry_id: row.id,
          kind: row.kind,
          amount_usd: toUsd(row.amount_microusd),
          task_id: row.job_id,
          label: row.label,
          instance: row.instance,
          inference_seconds: row.inference_ms === null ? null : row.inference_ms / 1_000,
          created_at: isoTime(row.created_at),
        })),
        ...(more && last ? { next_cursor: cursors.issue(accountId, last.id) } : {}),
      } satisfies LedgerPage);
    })
    .all(onlyMethods('GET'));

  router
    .route('/days')
    .get(async (_request, response) => {
      const { accountId } = callerOf(response);
      const firstDay = Math.floor(Date.now() / dayMs) * dayMs - (spendDays - 1) * dayMs;
      const days: SpendHistory['days'] = [];
      for (let day = firstDay; days.length < spendDays; day += dayMs) {
        // A query per day, because one for all would block the event loop for an account with many jobs.
        const { spent, inferenceMs, jobs } = await slots.lists.run(accountId, response, () =>
          spendOfDay(db, accountId, day),
        );
        days.push({
          date: isoTime(day).slice(0, 10),
          spent_usd: toUsd(spent),
          inference_seconds: inferenceMs / 1_000,
          jobs,
        });
      }
      sendJson(response, 200, { days } satisfies SpendHistory);
    })
    .all(onlyMethods('GET'));
  return router;
}
