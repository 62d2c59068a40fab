import pino from 'pino';
import { encodeTime } from 'ulid';
import { afterEach, expect, test, vi } from 'vitest';
import { newAccount, newJob, onPostgres, temporaryDatabase } from '../../../test/kit.js';
import { dayMs } from '../../base/time.js';
import { sandboxAccount } from '../accounts/accounts.js';
import { deleteOldJobs, retentionTime } from './retention.js';

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

async function setUp() {
  const db = await temporaryDatabase();
  const warnings: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line) => void warnings.push(JSON.parse(line).msg) });
  return { db, log, warnings, at: (time: number) => retentionTime(db, log, async () => time) };
}

afterEach(() => void vi.useRealTimers());

test('a machine whose clock is 91 days ahead deletes no record', async () => {
  const { db, log, warnings } = await setUp();
  await newJob(db, await newAccount(db), { status: 'SUCCEEDED', finished_at: Date.now() });
  const real = Date.now();
  vi.useFakeTimers({ toFake: ['Date'], now: real + 91 * dayMs });
  const now = await retentionTime(db, log);
  if (onPostgres) {
    // PostgreSQL has its own clock.
    expect(Math.abs(now! - real)).toBeLessThan(dayMs);
    expect(await deleteOldJobs(db, now!)).toBe(0);
    expect(warnings).toEqual([]);
  } else {
    expect(now).toBeUndefined();
    expect(warnings).toEqual([expect.stringContaining('check the date of this machine')]);
  }
});

test('a clock that jumped by days causes one warning, and is trusted as soon as it is back', async () => {
  const { at, warnings } = await setUp();
  const start = 1_000 * dayMs;
  expect(await at(start)).toBe(start);
  expect(await at(start + 2 * dayMs)).toBe(start + 2 * dayMs);
  for (const hours of [0, 1, 2]) expect(await at(start + 90 * dayMs + (hours * dayMs) / 24)).toBeUndefined();
  expect(warnings).toHaveLength(1);
  expect(await at(start + 2.1 * dayMs)).toBe(start + 2.1 * dayMs);
  expect(await at(start - 90 * dayMs)).toBeUndefined();
  expect(warnings).toHaveLength(2);
});

test('after 100 days switched off, records are deleted again one day later', async () => {
  const { at } = await setUp();
  const start = 1_000 * dayMs;
  await at(start);
  const back = start + 100 * dayMs;
  expect(await at(back)).toBeUndefined();
  expect(await at(back + dayMs - 1)).toBeUndefined();
  expect(await at(back + dayMs)).toBe(back + dayMs);
  expect(await at(back + 1.1 * dayMs)).toBe(back + 1.1 * dayMs);
});

test('without a recorded deletion, the newest job is the reference', async () => {
  const { db, at } = await setUp();
  await newJob(db, await newAccount(db));
  expect(await at(Date.now() + 90 * dayMs)).toBeUndefined();
});
