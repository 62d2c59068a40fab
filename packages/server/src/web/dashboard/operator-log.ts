import type { Response } from 'express';
import type { Logger } from 'pino';
import { originOf } from '../guards/client-address.js';
import { identityOf } from './session-routes.js';

/** An action on an account. It has ids and amounts, but no names, which must not outlive the account. */
interface Action {
  action: 'account create' | 'account credit' | 'key create' | 'key revoke';
  accountId: string;
  keyId?: string;
  usd?: number;
}

/** Logs what the operator did with a request, and from where. Members act on their own account, which is not logged. */
export function logAction(log: Logger, response: Response, action: Action): void {
  if (identityOf(response).role !== 'operator') return;
  log.info({ ...action, from: originOf(response.req) }, 'operator action');
}
