import { type Expression, sql } from 'kysely';
import { cached } from '../../base/cached.js';
import { type MicroUsd, priceOf } from '../../base/money.js';
import { recentInferenceMs } from '../accounts/ledger.js';
import type { Rates } from '../accounts/rates.js';
import type { Queryable } from '../db/database.js';

// An account may have many unfinished jobs, whose charges are unknown. Each reserves an estimate in its row, so a
// balance ends at most one job below zero if the estimates hold. The sum is computed from the unfinished jobs, because
// a stored sum could differ from them after a crash.

/** How many charges of all accounts the estimate looks at. */
const chargesRead = 200;
const keptMs = 10_000;
/** Jobs are expected to take this long until one has succeeded. */
const firstInferenceMs = 10_000;

/** Estimates the charge of a job: the median inference time of the last jobs, at the highest rate. */
export function jobEstimate(db: Queryable, rates: () => Rates): () => Promise<MicroUsd> {
  const medianMs = cached(async () => median(await recentInferenceMs(db, chargesRead)) ?? firstInferenceMs, keptMs);
  return async () => {
    const rate = Math.max(0, ...Object.values(rates()));
    return rate > 0 ? priceOf(await medianMs(), rate) : 0;
  };
}

/** Subtracts the sum that the account's unfinished jobs reserve from its balance. An index contains that sum. */
export function availableBalance(db: Queryable, accountId: string | Expression<string>) {
  const reserved = db
    .selectFrom('jobs')
    .select((eb) => eb.fn.coalesce(eb.fn.sum<number>('reserved_microusd'), eb.lit(0)).as('sum'))
    .where('account_id', '=', accountId)
    .where('finished_at', 'is', null);
  const balance = db.selectFrom('accounts').select('balance_microusd').where('id', '=', accountId);
  return sql<number>`cast(${balance} - ${reserved} as bigint)`;
}

function median(values: readonly number[]): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)];
}
