import { sql } from 'kysely';
import { cached } from '../../base/cached.js';
import { dayMs } from '../../base/time.js';
import type { Queryable } from '../db/database.js';
import type { Time } from '../db/time.js';

/**
 * Limits how many rows of each kind an account may keep. Every list that its requests make longer has a bound here or
 * in the settings, far above what honest users need, so that no account can fill the disk at no cost.
 */
export const quotas = {
  /** Failed and canceled jobs cost nothing. An account with more cannot create jobs. */
  jobsWithoutModel: 100_000,
  /** Jobs of the public test key. Beyond it, the oldest are deleted, because a refusal would affect everyone. */
  sandboxJobs: 100_000,
  /** How many of the succeeded, of the failed and of the canceled jobs keep their photos. */
  keptPhotos: 50,
  /** Keys that work, and as many revoked ones. */
  apiKeys: 100,
  /** Sessions of the dashboard. Another one ends the oldest. */
  sessions: 100,
  /** Open streams of events per server. */
  streams: 16,
  /** Events that wait for the endpoint, as many dead letters, and as many others. */
  events: 10_000,
  /** Deliveries that are neither waiting nor dead letters. A job of five seconds has five or six. */
  deliveries: 500,
} as const;

/** The account has reached one of its quotas. The message addresses its owner. */
export class QuotaError extends Error {
  override readonly name = 'QuotaError';
  readonly retryAfterSeconds: number;

  constructor(message: string, retryAfterSeconds: number) {
    super(message);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The request's account was deleted while the request was in progress. */
export class AccountDeletedError extends Error {
  override readonly name = 'AccountDeletedError';

  constructor() {
    super('The account was deleted');
  }
}

/** Numbers the days in UTC, in an expression that both SQLite and PostgreSQL understand. */
export const dayOf = (now: Time) => sql<number>`cast(${now} as bigint) / ${sql.lit(dayMs)}`;

/** Returns how many jobs the account has created today, which is since midnight in UTC. */
export const jobsOfToday = (now: Time) => sql<number>`case when jobs_day = ${dayOf(now)} then jobs_of_day else 0 end`;

export function tooManyToday(max: number): QuotaError {
  const message = `This account has created ${max.toLocaleString('en')} jobs today, which is its limit. Try again after midnight UTC`;
  return new QuotaError(message, Math.ceil((dayMs - (Date.now() % dayMs)) / 1_000));
}

const keptMs = 10_000;
const maxKeptCounts = 1_000;

/**
 * Counts an account's failed and canceled jobs, up to the quota. The count of an account at its quota takes a few
 * milliseconds, and is kept for 10 s.
 */
export function countJobsWithoutModel(db: Queryable): (accountId: string) => Promise<number> {
  const counts = new Map<string, () => Promise<number>>();
  const count = async (accountId: string) => {
    const jobs = db
      .selectFrom('jobs')
      .select('id')
      .where('account_id', '=', accountId)
      .where('status', 'in', ['FAILED', 'CANCELED'])
      .limit(quotas.jobsWithoutModel);
    const rows = db.selectNoFrom(sql<number>`(select count(*) from ${jobs} as jobs_without_model)`.as('count'));
    return (await rows.executeTakeFirstOrThrow()).count;
  };
  return (accountId) => {
    const countOfAccount = counts.get(accountId) ?? cached(() => count(accountId), keptMs);
    // The accounts that asked last are at the end.
    counts.delete(accountId);
    counts.set(accountId, countOfAccount);
    for (const oldest of counts.keys()) {
      if (counts.size <= maxKeptCounts) break;
      counts.delete(oldest);
    }
    return countOfAccount();
  };
}

export function tooManyWithoutModel(): QuotaError {
  const max = quotas.jobsWithoutModel.toLocaleString('en');
  const message = `This account has ${max} failed or canceled jobs, which is its limit. Delete some of them, or wait: records are deleted after 90 days`;
  return new QuotaError(message, 60 * 60);
}
