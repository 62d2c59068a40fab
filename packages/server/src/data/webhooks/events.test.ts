import { encodeTime } from 'ulid';
import { expect, test } from 'vitest';
import { newAccount, newJob, temporaryDatabase, withEndpoint } from '../../../test/kit.js';
import type { Db } from '../db/database.js';
import { cancel } from '../jobs/lifecycle.js';
import { deleteOldEvents, limitEvents } from './event-retention.js';
import { endOfEvents, readEvents, recordPing } from './events.js';

const statesOf = async (db: Db, account: string, after = '') =>
  (await readEvents(db, account, { after })).map(({ job_id, status }) => [job_id, status]);

/** An account with this many canceled jobs, each of which has one event. Returns its id and theirs. */
async function accountWithEvents(db: Db, count: number): Promise<{ account: string; jobs: string[] }> {
  const account = await newAccount(db);
  const jobs: string[] = [];
  for (let i = 0; i < count; i++) jobs.push(await newJob(db, account));
  for (const job of jobs) await cancel(db, job, Date.now());
  return { account, jobs };
}

test('a change is recorded without an endpoint, for its account and its job', async () => {
  const db = await temporaryDatabase();
  const { account, jobs } = await accountWithEvents(db, 2);
  await accountWithEvents(db, 1);
  expect(await statesOf(db, account)).toEqual(jobs.map((job) => [job, 'CANCELED']));
  expect(await readEvents(db, account, { jobId: jobs[1], after: '' })).toMatchObject([{ job_id: jobs[1] }]);
  expect(await statesOf(db, account, await endOfEvents(db, account))).toEqual([]);
});

test('a reader that continues after the last event misses none of concurrent changes, and repeats none', async () => {
  const db = await temporaryDatabase();
  const account = await newAccount(db);
  const jobs: string[] = [];
  for (let i = 0; i < 60; i++) jobs.push(await newJob(db, account));
  let isChanging = true;
  const changes = Promise.all(jobs.map((job) => cancel(db, job, Date.now()))).finally(() => {
    isChanging = false;
  });
  const read: (string | null)[] = [];
  let after = await endOfEvents(db, await newAccount(db));
  for (let isLast = false; !isLast; ) {
    isLast = !isChanging;
    const events = await readEvents(db, account, { after });
    read.push(...events.map(({ job_id }) => job_id));
    after = events.at(-1)?.event_id ?? after;
  }
  await changes;
  expect(read.toSorted()).toEqual(jobs.toSorted());
});

test('the log keeps the newest events of each account', async () => {
  const db = await temporaryDatabase();
  const [busy, other] = [await accountWithEvents(db, 5), await accountWithEvents(db, 2)];
  await limitEvents(db, Date.now(), 3);
  expect((await statesOf(db, busy.account)).map(([job]) => job)).toEqual(busy.jobs.slice(2));
  expect((await statesOf(db, other.account)).map(([job]) => job)).toEqual(other.jobs);
});

test('the log keeps events for a day, and later ones continue after them', async () => {
  const db = await temporaryDatabase();
  const { account } = await accountWithEvents(db, 2);
  const day = 24 * 60 * 60 * 1_000;
  await deleteOldEvents(db, Date.now() + day - 60_000);
  const [first] = await readEvents(db, account, { after: '' });
  expect(await statesOf(db, account)).toHaveLength(2);
  await deleteOldEvents(db, Date.now() + day + 60_000);
  expect(await statesOf(db, account)).toEqual([]);
  const job = await newJob(db, account);
  await cancel(db, job, 0);
  expect(await statesOf(db, account, first?.event_id)).toEqual([[job, 'CANCELED']]);
});

test('ids grow even if the clock is set back', async () => {
  const db = await temporaryDatabase();
  const { account } = await accountWithEvents(db, 1);
  const future = Date.now() + 1_000_000;
  await db.updateTable('accounts').set({ last_event_at: future }).where('id', '=', account).execute();
  const job = await newJob(db, account);
  await cancel(db, job, 0);
  expect(await statesOf(db, account, encodeTime(future))).toEqual([[job, 'CANCELED']]);
});

test('a ping is not among the events that streams read, and needs an endpoint', async () => {
  const db = await temporaryDatabase();
  const { account, jobs } = await accountWithEvents(db, 1);
  expect(await recordPing(db, account, 0, 0)).toBe(false);
  await withEndpoint(db, account);
  expect(await recordPing(db, account, 0, 0)).toBe(true);
  expect(await statesOf(db, account)).toEqual([[jobs[0], 'CANCELED']]);
});
