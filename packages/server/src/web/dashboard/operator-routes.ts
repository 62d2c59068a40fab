import { statfs } from 'node:fs/promises';
import { isStorable, limits, Name, notStorable } from '@gen3d/schema';
import type { OperatorAccountList, Overview } from '@gen3d/schema/dashboard';
import { Router } from 'express';
import { z } from 'zod';
import { cached } from '../../base/cached.js';
import { maxUsd, toMicroUsd, toUsd } from '../../base/money.js';
import { dayMs, isoTime } from '../../base/time.js';
import { version } from '../../base/version.js';
import { creditAccount, openAccount } from '../../data/accounts/accounts.js';
import { currentTime } from '../../data/db/time.js';
import { accountsWithOpenJobs, finishedJobsByStatus, oldestOpenJob, openJobsByStatus } from '../../data/jobs/counts.js';
import { type LiveRunner, liveRunners } from '../../data/runners/registry.js';
import { countDeliveries } from '../../data/webhooks/deliveries.js';
import { bundleOverview } from '../../work/bundles.js';
import { noSuch, sendJson, validated } from '../answers/responses.js';
import { jsonBody } from '../guards/json-body.js';
import type { Services } from '../routes/services.js';
import { logAction } from './operator-log.js';

const usd = z.number({ error: 'must be an amount in USD' }).min(-maxUsd).max(maxUsd);
const NewAccount = z.object({ name: Name, balance_usd: usd.min(0).optional() });
const Credit = z.object({
  usd: usd.refine((amount) => toMicroUsd(amount) !== 0, 'must be at least a millionth of a dollar'),
  idempotency_key: z.string().min(1).max(limits.idempotencyKeyLength.max).refine(isStorable, notStorable).optional(),
});

/** Cursors are issued to an account, and the operator has none. */
const operatorCursors = 'operator';

const AccountSearch = z.object({ search: Name.optional(), cursor: z.string().optional() });
const pageSize = 50;

const shownRunner = (runner: LiveRunner): Overview['runners'][number] => ({
  runner_id: runner.id,
  host: runner.host,
  version: runner.version,
  instance: runner.instance,
  bundle: runner.bundle,
  device: runner.device,
  adapter: runner.adapter,
  task_id: runner.job_id,
  started_at: isoTime(runner.started_at),
  heartbeat_at: isoTime(runner.heartbeat_at),
});

type Dependencies = Pick<Services, 'config' | 'cursors' | 'db' | 'log' | 'shares'>;

/** Serves `/dashboard/api/operator`: the state of the server, and its accounts. */
export function operatorRoutes(services: Dependencies): Router {
  const { config, cursors, db } = services;
  const router = Router();
  const counts = cached(async () => {
    const byStatus = [...(await openJobsByStatus(db)), ...(await finishedJobsByStatus(db, dayMs))];
    const jobs = Object.fromEntries(byStatus.map(({ status, count }) => [status, count]));
    return { jobs, events: await countDeliveries(db) };
  });

  router.get('/overview', async (_request, response) => {
    const { jobs, events } = await counts();
    const oldest = await oldestOpenJob(db);
    const live = await liveRunners(db, currentTime(db));
    const { bavail, bsize } = await statfs(config.dataDir);
    sendJson(response, 200, {
      jobs,
      oldest_open_at: oldest === undefined ? null : isoTime(oldest),
      events,
      runners: live.map(shownRunner),
      version,
      free_disk_bytes: bavail * bsize,
    } satisfies Overview);
  });

  router.get('/bundles', async (_request, response) => {
    sendJson(response, 200, await bundleOverview(config));
  });

  router.get('/accounts', async (request, response) => {
    const { search, cursor } = validated(AccountSearch.safeParse(request.query), 'query');
    const after = await cursors.read(operatorCursors, cursor);
    const { rows, more } = await accountsWithOpenJobs(db, { search, after, limit: pageSize });
    const last = rows.at(-1);
    sendJson(response, 200, {
      accounts: rows.map((row) => ({
        account_id: row.id,
        name: row.name,
        sandbox: row.sandbox === 1,
        balance_usd: toUsd(row.balance_microusd),
        open_jobs: Number(row.open_jobs),
        created_at: isoTime(row.created_at),
      })),
      ...(more && last ? { next_cursor: cursors.issue(operatorCursors, last.id) } : {}),
    } satisfies OperatorAccountList);
  });

  addAccountChanges(router, services);
  return router;
}

function addAccountChanges(router: Router, services: Pick<Services, 'config' | 'db' | 'log' | 'shares'>): void {
  const { config, db, log } = services;
  router.post('/accounts', jsonBody(services), async (request, response) => {
    const body = validated(NewAccount.safeParse(request.body));
    const account = await openAccount(db, config, body);
    logAction(log, response, { action: 'account create', accountId: account.account_id, usd: account.balance_usd });
    sendJson(response, 201, account);
  });

  // `route` keeps the type of `request.params`, which the handler before would widen.
  router.route('/accounts/:id/credit').post(jsonBody(services), async (request, response) => {
    const { usd, idempotency_key } = validated(Credit.safeParse(request.body));
    const { id } = request.params;
    const credited = await creditAccount(db, id, toMicroUsd(usd), idempotency_key);
    if (credited === undefined) throw noSuch('account');
    if (credited.isNew) logAction(log, response, { action: 'account credit', accountId: id, usd });
    sendJson(response, 200, { account_id: id, balance_usd: toUsd(credited.balance) });
  });
}
