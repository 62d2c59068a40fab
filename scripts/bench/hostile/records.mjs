// Checks in the database of a stopped server that no job was lost, and none finished or charged twice.
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** How many images are prepared concurrently by default: jobs of one account may overtake each other by that many. */
const preparedConcurrently = 8;

/**
 * @param db the server's database
 * @param accounts by name: `id`, the ids of its `accepted` jobs, and whether it has a webhook `endpoint`
 * @param finalEvents by job, the ids of the delivered events of its end
 * @returns rows of figure, value and maximum, and how many jobs there are in each status
 */
export async function checkRecords(db, { accounts, finalEvents, dataDir }) {
  const jobs = await db.selectFrom('jobs').selectAll().orderBy('id').execute();
  const ledger = await db.selectFrom('ledger').selectAll().execute();
  const balances = await db.selectFrom('accounts').select(['id', 'balance_microusd']).execute();
  const undelivered = await db.selectFrom('outbox').select(['event_id', 'job_id', 'status']).execute();

  const byId = new Map(jobs.map((job) => [job.id, job]));
  const chargesOf = countBy(ledger.filter(({ kind, amount_microusd: amount }) => kind === 'charge' && amount < 0));
  for (const { event_id, job_id, status } of undelivered) {
    if (isTerminal(status)) finalEvents.set(job_id, (finalEvents.get(job_id) ?? new Set()).add(event_id));
  }

  let [lost, unannounced, withoutImage, wronglyCharged, withoutFinalEvent, overtaken] = [0, 0, 0, 0, 0, 0];
  const statuses = {};
  for (const { id: accountId, accepted, endpoint } of accounts) {
    const own = jobs.filter(({ account_id }) => account_id === accountId);
    const told = new Set(accepted);
    lost += accepted.filter((id) => !byId.has(id)).length;
    unannounced += own.filter(({ id }) => !told.has(id)).length;
    for (const { id, type, status, image_url } of own) {
      statuses[status] = (statuses[status] ?? 0) + 1;
      if ((chargesOf.get(id) ?? 0) !== (status === 'SUCCEEDED' ? 1 : 0)) wronglyCharged++;
      if (isTerminal(status)) {
        if (endpoint && finalEvents.get(id)?.size !== 1) withoutFinalEvent++;
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
    return entries.reduce((sum, { amount_microusd: amount }) => sum + Number(amount), 0) !== Number(balance);
  });
  return {
    statuses,
    rows: [
      ['accepted jobs without a record', lost, 0],
      ['records of jobs that no caller was told of', unannounced, 0],
      ['waiting jobs without their image', withoutImage, 0],
      ['waiting jobs of an account that later ones have overtaken', overtaken, preparedConcurrently],
      ['jobs not charged exactly once if they succeeded, or charged otherwise', wronglyCharged, 0],
      ['balances that are not the sum of the ledger', wrongBalances.length, 0],
      ['finished jobs without exactly one final event', withoutFinalEvent, 0],
    ],
  };
}

const isWaiting = (status) => status === 'PENDING' || status === 'QUEUED';
const isTerminal = (status) => ['SUCCEEDED', 'FAILED', 'CANCELED'].includes(status);

function countBy(charges) {
  const counts = new Map();
  for (const { job_id: id } of charges) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}
