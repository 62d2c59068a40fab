import type { LedgerPage, SpendHistory } from '@gen3d/schema/dashboard';
import { Router } from 'express';
import { sql } from 'kysely';
import { toUsd } from '../../base/money.js';
import { dayMs, isoTime } from '../../base/time.js';
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
      let query = db
        .selectFrom('ledger')
        .leftJoin('jobs', 'jobs.id', 'ledger.job_id')
        .select([
          'ledger.id',
          'kind',
          'amount_microusd',
          'job_id',
          'label',
          'instance',
          'inference_ms',
          'ledger.created_at',
        ])
        .where('ledger.account_id', '=', accountId)
        .orderBy('ledger.id', 'desc')
        .limit(pageSize + 1);
      if (before !== undefined) query = query.where('ledger.id', '<', before);
      const rows = await query.execute();
      const page = rows.slice(0, pageSize);
      const last = page.at(-1);
      sendJson(response, 200, {
        entries: page.map((row) => ({
          entry_id: row.id,
          kind: row.kind,
          amount_usd: toUsd(row.amount_microusd),
          task_id: row.job_id,
          label: row.label,
          instance: row.instance,
          inference_seconds: row.inference_ms === null ? null : row.inference_ms / 1_000,
          created_at: isoTime(row.created_at),
        })),
        ...(rows.length > pageSize && last ? { next_cursor: cursors.issue(accountId, last.id) } : {}),
      } satisfies LedgerPage);
    })
    .all(onlyMethods('GET'));

  router
    .route('/days')
    .get(async (_request, response) => {
      const today = Math.floor(Date.now() / dayMs);
      // Both operands are integers, so both databases round down.
      const day = sql<number>`created_at / ${sql.lit(dayMs)}`;
      const rows = await db
        .selectFrom('ledger')
        .select([
          day.as('day'),
          sql<number>`sum(amount_microusd)`.as('amount'),
          sql<number>`sum(inference_ms)`.as('inference_ms'),
          sql<number>`count(*)`.as('jobs'),
        ])
        .where('account_id', '=', callerOf(response).accountId)
        .where('kind', '=', 'charge')
        .where('created_at', '>=', (today - spendDays + 1) * dayMs)
        .groupBy(day)
        .execute();
      // PostgreSQL sums integers to a numeric, which its driver returns as text.
      const byDay = new Map(rows.map((row) => [Number(row.day), row]));
      sendJson(response, 200, {
        days: Array.from({ length: spendDays }, (_, index) => {
          const number = today - spendDays + 1 + index;
          const row = byDay.get(number);
          return {
            date: isoTime(number * dayMs).slice(0, 10),
            spent_usd: toUsd(-Number(row?.amount ?? 0) || 0),
            inference_seconds: Number(row?.inference_ms ?? 0) / 1_000,
            jobs: Number(row?.jobs ?? 0),
          };
        }),
      } satisfies SpendHistory);
    })
    .all(onlyMethods('GET'));
  return router;
}
