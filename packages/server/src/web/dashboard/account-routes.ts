import { Name } from '@gen3d/schema';
import type { CreatedKey, KeyList, LedgerPage } from '@gen3d/schema/dashboard';
import { Router } from 'express';
import { z } from 'zod';
import { toUsd } from '../../base/money.js';
import { isoTime } from '../../base/time.js';
import { listKeys, revokeKey } from '../../data/accounts/api-keys.js';
import { listLedger } from '../../data/accounts/ledger.js';
import { currentTime } from '../../data/db/time.js';
import { transaction } from '../../data/db/transaction.js';
import { noSuch, sendJson, validated } from '../answers/responses.js';
import { callerOf, refuseSandbox } from '../guards/auth.js';
import { jsonBody } from '../guards/json-body.js';
import { changeInTurn, listInTurn } from '../guards/shares.js';
import type { Services } from '../routes/services.js';
import { logAction } from './operator-log.js';

const pageSize = 50;

/** Serves `/dashboard/api/ledger`: the account's ledger, newest entries first. */
export function ledgerRoutes({ db, cursors }: Pick<Services, 'db' | 'cursors'>): Router {
  const router = Router();

  router.get('/', async (request, response) => {
    const { accountId } = callerOf(response);
    const before = await cursors.read(accountId, request.query.cursor);
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
  });
  return router;
}

const NewKey = z.object({ name: Name });

/** Serves `/dashboard/api/keys`: the account's API keys. */
export function keyRoutes(services: Pick<Services, 'db' | 'keys' | 'log' | 'shares'>): Router {
  const { db, keys, log, shares } = services;
  const router = Router();
  router.use(refuseSandbox);

  router.get('/', async (_request, response) => {
    const all = await listInTurn(shares, response, (accountId) => listKeys(db, accountId));
    const newestFirst = all.reverse().map(({ account_id, ...key }) => key);
    sendJson(response, 200, { keys: newestFirst } satisfies KeyList);
  });

  router.post('/', jsonBody(services), async (request, response) => {
    const { name } = validated(NewKey.safeParse(request.body));
    const { accountId } = callerOf(response);
    const create = () => transaction(db, (trx) => keys.create(trx, accountId, currentTime(db), { name }));
    const { keyId, apiKey } = await changeInTurn(shares, response, create);
    logAction(log, response, { action: 'key create', accountId, keyId });
    sendJson(response, 201, { key_id: keyId, name, api_key: apiKey } satisfies CreatedKey);
  });

  router.delete('/:id', async (request, response) => {
    const { id } = request.params;
    const { accountId } = callerOf(response);
    const revoke = () => transaction(db, (trx) => revokeKey(trx, id, currentTime(db), accountId));
    if (!(await changeInTurn(shares, response, revoke))) throw noSuch('key');
    logAction(log, response, { action: 'key revoke', accountId, keyId: id });
    response.status(204).end();
  });
  return router;
}
