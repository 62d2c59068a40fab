import { encodeTime } from 'ulid';
import { expect, test } from 'vitest';
import { newAccount, newJob, temporaryDatabase } from '../../test/kit.js';
import { deleteOldJobs } from './retention.js';

const day = 24 * 60 * 60 * 1_000;

/** An id that was made at `time`. */
const idAt = (time: number, fill = '0') => encodeTime(time, 10) + fill.repeat(16);

test('the record of a finished job is deleted after 90 days, and an open job is kept', async () => {
  const db = await temporaryDatabase();
  const account = await newAccount(db);
  await newJob(db, account, { id: idAt(0), status: 'SUCCEEDED', finished_at: 1 });
  const young = await newJob(db, account, { id: idAt(2), status: 'FAILED', finished_at: 3 });
  const open = await newJob(db, account, { id: idAt(0, 'Z') });
  expect(await deleteOldJobs(db, 90 * day)).toBe(0);
  expect(await deleteOldJobs(db, 90 * day + 1)).toBe(1);
  const left = await db.selectFrom('jobs').select('id').orderBy('id').execute();
  expect(left.map(({ id }) => id)).toEqual([open, young]);
});
