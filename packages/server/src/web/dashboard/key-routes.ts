import { Name } from '@gen3d/schema';
import type { CreatedKey, KeyList } from '@gen3d/schema/dashboard';
import { Router } from 'express';
import { z } from 'zod';
import { listKeys, revokeKey } from '../../data/accounts/api-keys.js';
import { currentTime } from '../../data/db/time.js';
import { transaction } from '../../data/db/transaction.js';
import { callerOf, refuseSandbox } from '../http/auth.js';
import { jsonBody } from '../http/json-body.js';
import { HttpError, invalidRequest, onlyMethods, sendJson } from '../http/responses.js';
import type { Services } from '../http/services.js';
import { auditRequest } from './audit-routes.js';

const NewKey = z.object({ name: Name });

/** Serves `/dashboard/api/keys`: the account's API keys. */
export function keyRoutes(services: Services): Router {
  const { db, keys, slots } = services;
  const router = Router();
  router.use(refuseSandbox);

  router
    .route('/')
    .get(async (_request, response) => {
      const { accountId } = callerOf(response);
      const all = await slots.lists.run(accountId, response, () => listKeys(db, accountId));
      const newestFirst = all.reverse().map(({ account_id, ...key }) => key);
      sendJson(response, 200, { keys: newestFirst } satisfies KeyList);
    })
    .post(jsonBody(services), async (request, response) => {
      const parsed = NewKey.safeParse(request.body);
      if (!parsed.success) throw invalidRequest(parsed.error);
      const { name } = parsed.data;
      const { accountId } = callerOf(response);
      const { keyId, apiKey } = await transaction(db, async (trx) => {
        const key = await keys.create(trx, accountId, currentTime(db), { name });
        await auditRequest(response, trx, { action: 'key create', subject: key.keyId, detail: `account ${accountId}` });
        return key;
      });
      sendJson(response, 201, { key_id: keyId, name, api_key: apiKey } satisfies CreatedKey);
    })
    .all(onlyMethods('GET', 'POST'));

  router
    .route('/:id')
    .delete(async (request, response) => {
      const { id } = request.params;
      const revoked = await transaction(db, async (trx) => {
        const known = await revokeKey(trx, id, currentTime(db), callerOf(response).accountId);
        if (known) await auditRequest(response, trx, { action: 'key revoke', subject: id });
        return known;
      });
      if (!revoked) throw new HttpError(404, 'not_found', 'No such key');
      response.status(204).end();
    })
    .all(onlyMethods('DELETE'));
  return router;
}
