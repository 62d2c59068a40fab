import { formLimits } from '@gen3d/schema/dashboard';
import { Router } from 'express';
import { z } from 'zod';
import { hashPassword, OperatorPassword } from '../../data/accounts/operator-password.js';
import { transaction } from '../../data/db/transaction.js';
import { jsonBody } from '../http/json-body.js';
import { invalidRequest, onlyMethods } from '../http/responses.js';
import type { Services } from '../http/services.js';
import { auditRequest } from './audit-routes.js';
import { sessionTokenOf } from './session-cookie.js';

const { min, max } = formLimits.passwordLength;
const NewPassword = z.object({
  password: z
    .string({ error: 'must be text' })
    .min(min, `must have at least ${min} characters`)
    .max(max, `must have at most ${max} characters`),
});

/** Serves `/dashboard/api/operator-password`: sets or removes the password, and ends the operator's other sessions. */
export function operatorPasswordRoutes(services: Services): Router {
  const { config, db, dashboardTokens: tokens } = services;
  const password = new OperatorPassword(db);
  const router = Router();
  router
    .route('/')
    .put(jsonBody(services), async (request, response) => {
      const parsed = NewPassword.safeParse(request.body);
      if (!parsed.success) throw invalidRequest(parsed.error);
      const hash = await hashPassword(parsed.data.password);
      await transaction(db, async (trx) => {
        await password.set(trx, hash);
        await tokens.endOtherOperators(trx, sessionTokenOf(request, config) ?? '');
        await auditRequest(response, trx, { action: 'password set' });
      });
      response.status(204).end();
    })
    .delete(async (request, response) => {
      await transaction(db, async (trx) => {
        await password.remove(trx);
        await tokens.endOtherOperators(trx, sessionTokenOf(request, config) ?? '');
        await auditRequest(response, trx, { action: 'password remove' });
      });
      response.status(204).end();
    })
    .all(onlyMethods('PUT', 'DELETE'));
  return router;
}
