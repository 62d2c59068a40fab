import { expect, test } from 'vitest';
import { newAccount, newJob, temporaryDatabase } from '../../../test/kit.js';
import { dayMs } from '../../base/time.js';
import { needsInput, photoToForget } from './retry.js';

const maxKept = 50;

test('the photo of a job is needed until it has succeeded, and for 7 days after it failed or was canceled', async () => {
  const db = await temporaryDatabase();
  const account = await newAccount(db);
  const now = Date.now();
  const needed = async (fields: Parameters<typeof newJob>[2]) => needsInput(db, await newJob(db, account, fields));
  expect(await needed({})).toBe(true);
  expect(await needed({ status: 'SUCCEEDED', finished_at: now })).toBe(false);
  for (const status of ['FAILED', 'CANCELED'] as const) {
    expect(await needed({ status, finished_at: now })).toBe(true);
    expect(await needed({ status, finished_at: now - 7 * dayMs - 60_000 })).toBe(false);
  }
  expect(await needsInput(db, 'unknown')).toBe(false);
});

test('the photos of only the newest 50 failed jobs of an account are kept', async () => {
  const db = await temporaryDatabase();
  const [account, other] = [await newAccount(db), await newAccount(db, 'other')];
  const failed = { status: 'FAILED', finished_at: Date.now() } as const;
  const oldest = await newJob(db, account, failed);
  for (let i = 1; i < maxKept; i++) await newJob(db, account, failed);
  await newJob(db, other, failed);
  expect(await needsInput(db, oldest)).toBe(true);
  expect(await photoToForget(db, account, 'FAILED')).toBeUndefined();
  await newJob(db, account, failed);
  expect(await needsInput(db, oldest)).toBe(false);
  expect(await photoToForget(db, account, 'FAILED')).toBe(oldest);
});
