import pino from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import { newAccount, newJob, onPostgres, temporaryDatabase } from '../../../test/kit.js';
import { dayMs } from '../../base/time.js';
import { deleteOldJobs } from './retention.js';
import { retentionTime } from './retention-clock.js';

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
