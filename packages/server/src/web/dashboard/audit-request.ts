import type { Response } from 'express';
import { type Action, audit } from '../../data/accounts/audit-log.js';
import type { Queryable } from '../../data/db/database.js';
import { currentTime } from '../../data/db/time.js';
import { originOf } from '../guards/client-address.js';
import { identityOf } from './session-routes.js';

/**
 * Records what a request does, if the operator sent it; members act on their own account. Must run in the transaction of
 * the action.
 */
export async function auditRequest(response: Response, trx: Queryable, action: Omit<Action, 'who'>): Promise<void> {
  if (identityOf(response).role !== 'operator') return;
  await audit(trx, { who: `operator at ${originOf(response.req)}`, ...action }, currentTime(trx));
}
