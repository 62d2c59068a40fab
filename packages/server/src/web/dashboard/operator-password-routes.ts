import { formLimits } from '@gen3d/schema/dashboard';
import { Router } from 'express';
import { z } from 'zod';
import { OperatorPassword } from '../../data/accounts/operator-password.js';
import { jsonBody } from '../http/json-body.js';
import { invalidRequest, onlyMethods } from '../http/responses.js';
import type { Services } from '../http/services.js';
import { sessionTokenOf } from './session-cookie.js';

const { min, max } = formLimits.passwordLength;
const NewPassword = z.object({
  password: z
    .string({ error: 'must be text' })
    .min(min, `must have at least ${min} characters`)
    .max(max, `must have at most ${max} characters`),
});

/** `/dashboard/api/operator-password`: sets or removes the password, and ends all other sessions of the operator. */
export function operatorPasswordRoutes(services: Services): Router {
  const { db, dashboardTokens: tokens } = services;
  const password = new OperatorPassword(db);
  const router = Router();
  router
    .route('/')
    .put(jsonBody(services), async (request, response) => {
      const parsed = NewPassword.safeParse(request.body);
      if (!parsed.success) throw invalidRequest(parsed.error);
      await password.set(parsed.data.password);
      await tokens.endOtherOperators(sessionTokenOf(request) ?? '');
      response.status(204).end();
    })
    .delete(async (request, response) => {
      await password.remove();
      await tokens.endOtherOperators(sessionTokenOf(request) ?? '');
      response.status(204).end();
    })
    .all(onlyMethods('PUT', 'DELETE'));
  return router;
}
