import type { LedgerPage, SpendHistory } from '@gen3d/schema/dashboard';
import { Router } from 'express';
import { toUsd } from '../../base/money.js';
import { dayMs, isoTime } from '../../base/time.js';
import { listLedger, spendPerDay } from '../../data/accounts/ledger.js';
import { callerOf } from '../http/auth.js';
import { invalidCursor, onlyMethods, sendJson } from '../http/responses.js';
import type { Services } from '../http/services.js';

const pageSize = 50;
const spendDays = 30;

/** `/dashboard/api/ledger`: the account's ledger, newest entries first, and its spend per day. */
export function ledgerRoutes({ db, cursors }: Services): Router {
  const router = Router();

  router
    .route('/')
    .get(async (request, response) => {
      const { accountId } = callerOf(response);
      const { cursor } = request.query;
      const before = typeof cursor === 'string' ? cursors.read(accountId, cursor) : undefined;
      if (cursor !== undefined && before === undefined) throw invalidCursor();
      const { entries, more } = await listLedger(db, accountId, before, pageSize);
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
      const firstDay = Math.floor(Date.now() / dayMs) - spendDays + 1;
      const byDay = await spendPerDay(db, callerOf(response).accountId, firstDay);
      sendJson(response, 200, {
        days: Array.from({ length: spendDays }, (_, index) => {
          const { spent, inferenceMs, jobs } = byDay.get(firstDay + index) ?? { spent: 0, inferenceMs: 0, jobs: 0 };
          return {
            date: isoTime((firstDay + index) * dayMs).slice(0, 10),
            spent_usd: toUsd(spent),
            inference_seconds: (inferenceMs ?? 0) / 1_000,
            jobs,
          };
        }),
      } satisfies SpendHistory);
    })
    .all(onlyMethods('GET'));
  return router;
}
