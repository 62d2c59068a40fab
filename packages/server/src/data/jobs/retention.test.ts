import { encodeTime } from 'ulid';
import { expect, test } from 'vitest';
import { newAccount, newJob, temporaryDatabase } from '../../../test/kit.js';
import { dayMs } from '../../base/time.js';
import { sandboxAccount } from '../accounts/accounts.js';
import { deleteOldJobs } from './retention.js';

/** An id created at `time`. */
const idAt = (time: number, fill = '0') => encodeTime(time, 10) + fill.repeat(16);

test('the record of a finished job is deleted after 90 days, and an open job is kept', async () => {
  const db = await temporaryDatabase();
  const account = await newAccount(db);
  await newJob(db, account, { id: idAt(0), status: 'SUCCEEDED', finished_at: 1 });
  const young = await newJob(db, account, { id: idAt(2), status: 'FAILED', finished_at: 3 });
  const open = await newJob(db, account, { id: idAt(0, 'Z') });
  expect(await deleteOldJobs(db, 90 * dayMs + 1)).toBe(0);
  expect(await deleteOldJobs(db, 90 * dayMs + 2)).toBe(1);
  const left = await db.selectFrom('jobs').select('id').orderBy('id').execute();
  expect(left.map(({ id }) => id)).toEqual([open, young]);
});

test('the record of a job of the public test key is deleted after a day', async () => {
  const db = await temporaryDatabase();
  const { id: sandbox } = await sandboxAccount(db, 0);
  const kept = await newJob(db, await newAccount(db), { id: idAt(0), status: 'SUCCEEDED', finished_at: 1 });
  const rows = [1, 2, 3].map((time) => idAt(time, 'A'));
  for (const id of rows) await newJob(db, sandbox, { id, status: 'SUCCEEDED', finished_at: 1 });
  const young = await newJob(db, sandbox, { id: idAt(dayMs), status: 'SUCCEEDED', finished_at: dayMs });
  expect(await deleteOldJobs(db, 2 * dayMs)).toBe(3);
  const left = await db.selectFrom('jobs').select('id').orderBy('id').execute();
  expect(left.map(({ id }) => id)).toEqual([kept, young]);
});

test('of the jobs of the public test key, only the newest are kept', async () => {
  const db = await temporaryDatabase();
  const { id: sandbox } = await sandboxAccount(db, 0);
  const done = (time: number) =>
    ({ id: idAt(time), created_at: time, status: 'SUCCEEDED', finished_at: time }) as const;
  const kept = await newJob(db, await newAccount(db), { ...done(0), id: idAt(0, 'A') });
  const ids: string[] = [];
  for (const time of [1, 2, 3, 4]) ids.push(await newJob(db, sandbox, done(time)));
  expect(await deleteOldJobs(db, 10, 3)).toBe(1);
  expect(await deleteOldJobs(db, 10, 3)).toBe(0);
  const left = await db.selectFrom('jobs').select('id').orderBy('id').execute();
  expect(left.map(({ id }) => id)).toEqual([kept, ...ids.slice(1)]);
});

test('a job whose id comes from a clock decades behind is kept for 90 days after it finished', async () => {
  const db = await temporaryDatabase();
  const id = await newJob(db, await newAccount(db), { id: idAt(0), status: 'SUCCEEDED', finished_at: 1_000 * dayMs });
  expect(await deleteOldJobs(db, 1_001 * dayMs)).toBe(0);
  expect(await db.selectFrom('jobs').select('id').execute()).toEqual([{ id }]);
  expect(await deleteOldJobs(db, 1_091 * dayMs)).toBe(1);
});
