import { type Balance, limits } from '@gen3d/schema';
import { Router } from 'express';
import { toUsd } from '../../base/money.js';
import { balanceOf } from '../../data/accounts/ledger.js';
import { sendJson } from '../answers/responses.js';
import { callerOf } from '../guards/auth.js';
import type { Services } from './services.js';

/** Serves `/v1/balance` (docs/contract.md section 4.4). */
export function balanceRoutes({ db, rates }: Pick<Services, 'db' | 'rates'>): Router {
  return Router().get('/', async (_request, response) => {
    const balance = await balanceOf(db, callerOf(response).accountId);
    sendJson(response, 200, {
      balance_usd: toUsd(balance),
      min_balance_usd: limits.minBalanceUsd,
      rates: { ...rates() },
    } satisfies Balance);
  });
}
