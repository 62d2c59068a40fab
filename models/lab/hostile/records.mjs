// Checks the database of a stopped server: no job is lost, and none is finished or charged twice.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { sum } from '../../../scripts/bench/figures.mjs';

/** The default number of images that are prepared concurrently: jobs of one account may overtake as many others. */
const preparedConcurrently = 8;

/**
 * @typedef {object} Records
 * @property {ReadonlyArray<{ id: string, accepted: readonly string[], hasEndpoint: boolean }>} accounts with the ids of
 *   their accepted jobs
 * @property {Map<string, Set<string>>} finalEvents by job, the ids of the delivered final events
 * @property {string} dataDir
 */

/**
 * @param {any} db the server's database
 * @param {Records} records
 * @returns figures with their maximum, and the number of jobs by status
 */
export async function checkRecords(db, { accounts, finalEvents, dataDir }) {
  /** @type {any[]} */
  const jobs = await db.selectFrom('jobs').selectAll().orderBy('id').execute();
  /** @type {any[]} */
  const ledger = await db.selectFrom('ledger').selectAll().execute();
  /** @type {any[]} */
  const balances = await db.selectFrom('accounts').select(['id', 'balance_microusd']).execute();
  const undelivered = await db.selectFrom('outbox').select(['event_id', 'job_id', 'status']).execute();

  const byId = new Map(jobs.map((job) => [job.id, job]));
  const charges = countByJob(ledger.filter(({ kind, amount_microusd: amount }) => kind === 'charge' && amount < 0));
  for (const { event_id, job_id, status } of undelivered) {
    if (isTerminal(status)) finalEvents.set(job_id, (finalEvents.get(job_id) ?? new Set()).add(event_id));
  }

  let [lost, unannounced, withoutImage, wronglyCharged, withoutFinalEvent, overtaken] = [0, 0, 0, 0, 0, 0];
  /** @type {Record<string, number>} */
  const statuses = {};
  for (const { id: accountId, accepted, hasEndpoint } of accounts) {
    const own = jobs.filter(({ account_id }) => account_id === accountId);
    const known = new Set(accepted);
    lost += accepted.filter((id) => !byId.has(id)).length;
    unannounced += own.filter(({ id }) => !known.has(id)).length;
    for (const { id, type, status, image_url } of own) {
      statuses[status] = (statuses[status] ?? 0) + 1;
      if ((charges.get(id) ?? 0) !== (status === 'SUCCEEDED' ? 1 : 0)) wronglyCharged++;
      if (isTerminal(status)) {
        if (hasEndpoint && finalEvents.get(id)?.size !== 1) withoutFinalEvent++;
      } else if (type === 'image-to-3d' && image_url === null && !existsSync(join(dataDir, 'inputs', id))) {
        withoutImage++;
      }
    }
    const lastStarted = own.findLastIndex(({ status }) => status === 'SUCCEEDED' || status === 'IN_PROGRESS');
    const waitingBefore = own.filter(({ status }, index) => index < lastStarted && isWaiting(status));
    overtaken = Math.max(overtaken, waitingBefore.length);
  }
  const wrongBalances = balances.filter(({ id, balance_microusd: balance }) => {
    const entries = ledger.filter(({ account_id }) => account_id === id);
    return sum(entries.map(({ amount_microusd: amount }) => Number(amount))) !== Number(balance);
  });
  return {
    statuses,
    figures: [
      { name: 'accepted jobs without a record', value: lost, max: 0 },
      { name: 'records of jobs that no caller was told of', value: unannounced, max: 0 },
      { name: 'waiting jobs without their image', value: withoutImage, max: 0 },
      {
        name: 'waiting jobs that were overtaken by later ones of their account',
        value: overtaken,
        max: preparedConcurrently,
      },
      { name: 'succeeded jobs not charged exactly once, and other jobs charged', value: wronglyCharged, max: 0 },
      { name: 'balances that differ from the sum of the ledger', value: wrongBalances.length, max: 0 },
      { name: 'finished jobs without exactly one final event', value: withoutFinalEvent, max: 0 },
    ],
  };
}

/** @param {string} status */
const isWaiting = (status) => status === 'PENDING' || status === 'QUEUED';
/** @param {string} status */
const isTerminal = (status) => ['SUCCEEDED', 'FAILED', 'CANCELED'].includes(status);

/** @param {ReadonlyArray<{ job_id: string }>} charges */
function countByJob(charges) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { job_id: id } of charges) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}
