import { describe, expect, test } from 'vitest';
import { newAccount, newJob, temporaryDatabase } from '../../../test/kit.js';
import { dayMs } from '../../base/time.js';
import { quotas } from '../accounts/quotas.js';
import type { Db } from '../db/database.js';
import { cancel, maxAttempts, reap } from './lifecycle.js';
import { forgetImage, needsInput } from './retry.js';

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

test('the photo of a model is needed for as long as the operator keeps it', async () => {
  const db = await temporaryDatabase();
  const account = await newAccount(db);
  const made = (fields: object) => newJob(db, account, { status: 'SUCCEEDED', finished_at: Date.now(), ...fields });
  const kept = await made({ photo_kept: 1 });
  expect(await needsInput(db, kept, 2)).toBe(true);
  expect(await needsInput(db, kept)).toBe(false);
  expect(await needsInput(db, await made({ photo_kept: 0 }), 2)).toBe(false);
  expect(await needsInput(db, await made({ photo_kept: 1, finished_at: Date.now() - 3 * dayMs }), 2)).toBe(false);
});

test('of the models of an account, only the newest 50 keep their photo', async () => {
  const db = await temporaryDatabase();
  const account = await newAccount(db);
  const ids: string[] = [];
  for (let i = 0; i < quotas.photosForRetries; i++) {
    ids.push(await newJob(db, account, { status: 'SUCCEEDED', finished_at: Date.now(), photo_kept: 1 }));
  }
  const job = {
    id: await newJob(db, account, { status: 'SUCCEEDED', finished_at: Date.now(), photo_kept: 1 }),
    account_id: account,
  };
  expect(await forgetImage(db, job, 'SUCCEEDED')).toBe(ids[0]);
  expect(await needsInput(db, ids[0]!, 2)).toBe(false);
  expect(await needsInput(db, ids[1]!, 2)).toBe(true);
});

describe('of the failed and canceled jobs of an account', () => {
  const urlsOf = async (db: Db) => {
    const rows = await db.selectFrom('jobs').select(['id', 'image_urls']).where('image_urls', 'is not', null).execute();
    return new Set(rows.map(({ id }) => id));
  };

  test('only the newest 50 keep their photo and URL, in whatever order they end', async () => {
    const db = await temporaryDatabase();
    const [account, other] = [await newAccount(db), await newAccount(db, 'other')];
    const forgottenBy = async (id: string) => (await cancel(db, id, Date.now(), account)).forgotten;
    const late = await newJob(db, account);
    const ids: string[] = [];
    for (let i = 0; i < quotas.photosForRetries; i++) ids.push(await newJob(db, account));
    await newJob(db, other, { status: 'CANCELED', finished_at: Date.now() });
    for (const id of ids) expect(await forgottenBy(id)).toBeUndefined();
    const oldest = ids[0]!;
    expect(await needsInput(db, oldest)).toBe(true);
    const newest = await newJob(db, account);
    expect(await forgottenBy(newest)).toBe(oldest);
    expect(await needsInput(db, oldest)).toBe(false);
    // It ends last, but was created first.
    expect(await forgottenBy(late)).toBe(late);
    const urls = await urlsOf(db);
    expect([...ids.slice(1), newest].every((id) => urls.has(id))).toBe(true);
    expect(urls.has(oldest) || urls.has(late)).toBe(false);
  });

  test('jobs that run out of attempts count as well, and fail once if several servers reap them', async () => {
    const db = await temporaryDatabase();
    const account = await newAccount(db);
    const count = quotas.photosForRetries + 3;
    for (let i = 0; i < count; i++) await newJob(db, account, { attempt: maxAttempts });
    const reaped = await Promise.all(Array.from({ length: 4 }, () => reap(db, Date.now())));
    expect(reaped.reduce((sum, each) => sum + each)).toBe(count);
    expect((await urlsOf(db)).size).toBe(quotas.photosForRetries);
  });
});
