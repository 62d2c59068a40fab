import { Router } from 'express';
import { revokeKey } from '../accounts/api-keys.js';
import { currentTime } from '../db/time.js';
import { callerOf, refuseSandbox } from '../http/auth.js';
import { HttpError } from '../http/errors.js';
import { onlyMethods } from '../http/only-methods.js';
import { sendJson } from '../http/send-json.js';
import type { Services } from '../http/services.js';
import { isoTime } from '../jobs/iso-time.js';

/** `/dashboard/api/keys`: the account's API keys. */
export function keyRoutes({ db, keys }: Services): Router {
  const router = Router();
  router.use(refuseSandbox);

  router
    .route('/')
    .get(async (_request, response) => {
      const rows = await db
        .selectFrom('api_keys')
        .select(['id', 'created_at', 'revoked_at'])
        .where('account_id', '=', callerOf(response).accountId)
        .orderBy('id', 'desc')
        .execute();
      sendJson(response, 200, {
        keys: rows.map(({ id, created_at, revoked_at }) => ({
          key_id: id,
          created_at: isoTime(created_at),
          revoked_at: revoked_at === null ? null : isoTime(revoked_at),
        })),
      });
    })
    .post(async (_request, response) => {
      const { keyId, apiKey } = await keys.create(db, callerOf(response).accountId, currentTime(db));
      sendJson(response, 201, { key_id: keyId, api_key: apiKey });
    })
    .all(onlyMethods('GET', 'POST'));

  router
    .route('/:id')
    .delete(async (request, response) => {
      const { id } = request.params;
      const key = await db
        .selectFrom('api_keys')
        .select('id')
        .where('id', '=', id)
        .where('account_id', '=', callerOf(response).accountId)
        .executeTakeFirst();
      if (!key) throw new HttpError(404, 'not_found', 'No such key');
      await revokeKey(db, id, currentTime(db));
      response.status(204).end();
    })
    .all(onlyMethods('DELETE'));
  return router;
}
