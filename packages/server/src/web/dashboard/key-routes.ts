import { type CreatedKey, formLimits, type KeyList } from '@gen3d/schema/dashboard';
import { Router } from 'express';
import { z } from 'zod';
import { isoTime } from '../../base/time.js';
import { revokeKey } from '../../data/accounts/api-keys.js';
import { currentTime } from '../../data/db/time.js';
import { callerOf, refuseSandbox } from '../http/auth.js';
import { jsonBody } from '../http/json-body.js';
import { HttpError, invalidRequest, onlyMethods, sendJson } from '../http/responses.js';
import type { Services } from '../http/services.js';

const { nameLength } = formLimits;
/** Name of a key or an account. */
export const Name = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(nameLength, `must have at most ${nameLength} characters`);
const NewKey = z.object({ name: Name });

/** `/dashboard/api/keys`: the account's API keys. */
export function keyRoutes(services: Services): Router {
  const { db, keys } = services;
  const router = Router();
  router.use(refuseSandbox);

  router
    .route('/')
    .get(async (_request, response) => {
      const rows = await db
        .selectFrom('api_keys')
        .select(['id', 'name', 'ending', 'created_at', 'last_used_at', 'revoked_at'])
        .where('account_id', '=', callerOf(response).accountId)
        .orderBy('id', 'desc')
        .execute();
      sendJson(response, 200, {
        keys: rows.map(({ id, name, ending, created_at, last_used_at, revoked_at }) => ({
          key_id: id,
          name,
          ending,
          created_at: isoTime(created_at),
          last_used_at: last_used_at === null ? null : isoTime(last_used_at),
          revoked_at: revoked_at === null ? null : isoTime(revoked_at),
        })),
      } satisfies KeyList);
    })
    .post(jsonBody(services), async (request, response) => {
      const parsed = NewKey.safeParse(request.body);
      if (!parsed.success) throw invalidRequest(parsed.error);
      const { name } = parsed.data;
      const { keyId, apiKey } = await keys.create(db, callerOf(response).accountId, currentTime(db), { name });
      sendJson(response, 201, { key_id: keyId, name, api_key: apiKey } satisfies CreatedKey);
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
