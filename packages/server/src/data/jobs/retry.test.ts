import { describe, expect, test } from 'vitest';
import { newAccount, newJob, temporaryDatabase } from '../../../test/kit.js';
import { dayMs } from '../../base/time.js';
import { quotas } from '../accounts/quotas.js';
import type { Db } from '../db/database.js';
import { cancel, maxAttempts, reap } from './lifecycle.js';
import { canRetry, forgetImage, needsInput } from './retry.js';

test('the photo of a job is needed until the job has ended, and then for as long as the operator keeps it', async () => {
  const db = await temporaryDatabase();
  const account = await newAccount(db);
  const now = Date.now();
  const needed = async (fields: Parameters<typeof newJob>[2], days = 7) =>
    needsInput(db, await newJob(db, account, fields), days);
  expect(await needed({})).toBe(true);
  expect(await needed({}, 0)).toBe(true);
  for (const status of ['SUCCEEDED', 'FAILED', 'CANCELED'] as const) {
    expect(await needed({ status, finished_at: now })).toBe(true);
    expect(await needed({ status, finished_at: now }, 0)).toBe(false);
    expect(await needed({ status, finished_at: now - 7 * dayMs - 60_000 })).toBe(false);
  }
  expect(await needsInput(db, 'unknown', 7)).toBe(false);
});

test('of the models of an account, only the newest 50 keep their photo, and can be made again', async () => {
  const db = await temporaryDatabase();
  const account = await newAccount(db);
  const newModel = () => newJob(db, account, { status: 'SUCCEEDED', prepared: 1, finished_at: Date.now() });
  const canMakeAgain = async (id: string) =>
    canRetry(await db.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirstOrThrow(), 7);
  const ids: string[] = [];
  for (let i = 0; i < quotas.keptPhotos; i++) ids.push(await newModel());
  const job = { id: await newModel(), account_id: account };
  expect(await forgetImage(db, job, 'SUCCEEDED')).toBe(ids[0]);
  expect(await needsInput(db, ids[0]!, 7)).toBe(false);
  expect(await canMakeAgain(ids[0]!)).toBe(false);
  expect(await needsInput(db, ids[1]!, 7)).toBe(true);
  expect(await canMakeAgain(ids[1]!)).toBe(true);
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
    for (let i = 0; i < quotas.keptPhotos; i++) ids.push(await newJob(db, account));
    await newJob(db, other, { status: 'CANCELED', finished_at: Date.now() });
    for (const id of ids) expect(await forgottenBy(id)).toBeUndefined();
    const oldest = ids[0]!;
    expect(await needsInput(db, oldest, 7)).toBe(true);
    const newest = await newJob(db, account);
    expect(await forgottenBy(newest)).toBe(oldest);
    expect(await needsInput(db, oldest, 7)).toBe(false);
    // It ends last, but was created first.
    expect(await forgottenBy(late)).toBe(late);
    const urls = await urlsOf(db);
    expect([...ids.slice(1), newest].every((id) => urls.has(id))).toBe(true);
    expect(urls.has(oldest) || urls.has(late)).toBe(false);
  });

  test('jobs that run out of attempts count as well, and fail once if several servers reap them', async () => {
    const db = await temporaryDatabase();
    const account = await newAccount(db);
    const count = quotas.keptPhotos + 3;
    for (let i = 0; i < count; i++) await newJob(db, account, { attempt: maxAttempts });
    const reaped = await Promise.all(Array.from({ length: 4 }, () => reap(db, Date.now())));
    expect(reaped.reduce((sum, each) => sum + each)).toBe(count);
    expect((await urlsOf(db)).size).toBe(quotas.keptPhotos);
  });
});
