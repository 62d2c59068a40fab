import { describe, expect, test } from 'vitest';
import { eventsOf, newAccount, newJob, temporaryDatabase, withEndpoint } from '../../../test/kit.js';
import { toMicroUsd } from '../../base/money.js';
import { balanceOf, charge } from '../accounts/ledger.js';
import type { Db } from '../db/database.js';
import { claim, claimForPreparation, renew } from './claim.js';
import { JobFailure } from './failures.js';
import type { NewJob } from './job-store.js';
import {
  advance,
  cancel,
  fail,
  failAttempt,
  finishPreparation,
  LeaseLostError,
  maxAttempts,
  reap,
  succeed,
} from './lifecycle.js';

const leaseMs = 30_000;

const success = {
  modelKey: 'm/model.glb',
  thumbnailKey: 'm/thumbnail.jpg',
  inferenceMs: 2_500,
  stageTimes: { prepare: 12, matte: 1_300, store: 4 },
  bundle: 'gen3d-base',
  warnings: [],
  instance: 'cpu',
  rateUsdPerSecond: 0.002,
};

async function setUp(fields: Partial<NewJob> = {}) {
  const db = await temporaryDatabase();
  const account = await newAccount(db);
  await withEndpoint(db, account);
  const id = await newJob(db, account, fields);
  return { db, account, id };
}

const claimed = async (db: Db, now = 0) => (await claim(db, { runner: 'a', now, leaseMs }))!;
const jobOf = (db: Db, id: string) => db.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirstOrThrow();

/** Starts the inference of a job. */
const infer = async (db: Db, now = 0) => (await claimed(db, now)).lease;
const preparation = (db: Db, now = 0) => claimForPreparation(db, { runner: 'b', now, leaseMs, maxPrepared: 1 });

describe('a job', () => {
  test('passes through its statuses with one event per change', async () => {
    const { db, account } = await setUp({ prepared: 0 });
    await finishPreparation(db, (await preparation(db))!.lease, 12, 0);
    const lease = await infer(db);
    // The first renewal has no progress, and the third one no higher progress.
    for (const reached of [undefined, 90, 80]) await renew(db, [{ ...lease, reached }], { now: 0, leaseMs });
    await succeed(db, lease, success, 0);
    expect(await eventsOf(db, account)).toEqual([
      ['PENDING', 5],
      ['QUEUED', 25],
      ['IN_PROGRESS', 30],
      ['IN_PROGRESS', 90],
      ['SUCCEEDED', 100],
    ]);
  });

  test('sends only its last event to an endpoint that asks for final states', async () => {
    const { db, account } = await setUp();
    await db.updateTable('webhook_endpoints').set({ final_only: 1 }).execute();
    await succeed(db, await infer(db), success, 0);
    await cancel(db, await newJob(db, account), 0);
    expect(await eventsOf(db, account)).toEqual([
      ['SUCCEEDED', 100],
      ['CANCELED', 25],
    ]);
  });

  test('never goes back in status or progress when a second attempt starts over', async () => {
    const { db, account, id } = await setUp();
    const first = await infer(db);
    await advance(db, first, { status: 'IN_PROGRESS', progress: 70 }, 0);
    await infer(db, leaseMs);
    expect(await jobOf(db, id)).toMatchObject({ status: 'IN_PROGRESS', progress: 70, attempt: 2 });
    expect(await eventsOf(db, account)).toHaveLength(2);
  });

  test('that is prepared is QUEUED without a lease, and can no longer be written under the last one', async () => {
    const { db, account, id } = await setUp({ prepared: 0 });
    const { lease } = (await preparation(db))!;
    await finishPreparation(db, lease, 12, 0);
    const job = { status: 'QUEUED', progress: 25, prepared: 1, attempt: 0, lease_token: null, runner: null };
    expect(await jobOf(db, id)).toMatchObject({ ...job, lease_expires_at: null });
    await expect(finishPreparation(db, lease, 12, 0)).rejects.toThrow(LeaseLostError);
    expect(await eventsOf(db, account)).toEqual([
      ['PENDING', 5],
      ['QUEUED', 25],
    ]);
  });

  test('that succeeded is finished and charged its seconds once, even if the call is repeated', async () => {
    const { db, account, id } = await setUp();
    const lease = await infer(db);
    await succeed(db, lease, success, 5);
    await succeed(db, lease, success, 6);
    await expect(succeed(db, lease, { ...success, modelKey: 'other/model.glb' }, 7)).rejects.toThrow(LeaseLostError);
    expect(await jobOf(db, id)).toMatchObject({ status: 'SUCCEEDED', finished_at: 5 });
    expect(await balanceOf(db, account)).toBe(toMicroUsd(10) - 5_000);
    expect(await eventsOf(db, account)).toHaveLength(2);
  });

  test('that failed costs nothing and keeps its progress', async () => {
    const { db, account, id } = await setUp();
    await fail(db, await infer(db), new JobFailure('no_foreground', 'Nothing stands out'), 5);
    expect(await jobOf(db, id)).toMatchObject({
      status: 'FAILED',
      progress: 30,
      error_code: 'no_foreground',
      error_message: 'Nothing stands out',
      finished_at: 5,
    });
    expect(await balanceOf(db, account)).toBe(toMicroUsd(10));
  });

  test('is not finished if charging it fails', async () => {
    const { db, account, id } = await setUp();
    const lease = await infer(db);
    await charge(db, { accountId: account, jobId: id, price: 1, instance: 'cpu', inferenceMs: 1 }, 0);
    await expect(succeed(db, lease, success, 0)).rejects.toThrow(/unique/i);
    expect(await jobOf(db, id)).toMatchObject({ status: 'IN_PROGRESS', progress: 30 });
    expect(await eventsOf(db, account)).toHaveLength(1);
  });

  test('without a webhook endpoint records no events', async () => {
    const db = await temporaryDatabase();
    const account = await newAccount(db);
    await newJob(db, account);
    await infer(db);
    expect(await eventsOf(db, account)).toEqual([]);
  });
});

describe('an attempt that fails unexpectedly', () => {
  test('is followed by another after a pause, and the third makes the job FAILED with internal_error', async () => {
    const { db, id } = await setUp();
    let now = 0;
    for (let attempt = 1; attempt < maxAttempts; attempt++) {
      const { lease } = await claimed(db, now);
      expect(await failAttempt(db, lease, 1_000, now)).toBe(true);
      expect(await claim(db, { runner: 'a', now: now + 999, leaseMs })).toBeUndefined();
      now += 1_000;
    }
    const { lease } = await claimed(db, now);
    expect(await failAttempt(db, lease, 1_000, now)).toBe(false);
    expect(await jobOf(db, id)).toMatchObject({ status: 'FAILED', error_code: 'internal_error' });
  });

  test('fails the job once the lease of the third attempt has expired', async () => {
    const { db, account, id } = await setUp();
    for (const attempt of [0, 1, 2]) await claimed(db, attempt * leaseMs);
    expect(await claim(db, { runner: 'a', now: 3 * leaseMs, leaseMs })).toBeUndefined();
    expect(await reap(db, 3 * leaseMs - 1)).toBe(0);
    expect(await reap(db, 3 * leaseMs)).toBe(1);
    expect(await reap(db, 3 * leaseMs)).toBe(0);
    expect(await jobOf(db, id)).toMatchObject({ status: 'FAILED', error_code: 'internal_error' });
    expect((await eventsOf(db, account)).at(-1)).toEqual(['FAILED', 30]);
  });
});

describe('cancel', () => {
  test('ends a job before inference, and ends its lease', async () => {
    const { db, account, id } = await setUp({ prepared: 0 });
    const { lease } = (await preparation(db))!;
    expect(await cancel(db, id, 7)).toMatchObject({ outcome: 'canceled' });
    expect(await jobOf(db, id)).toMatchObject({ status: 'CANCELED', finished_at: 7 });
    await expect(finishPreparation(db, lease, 12, 8)).rejects.toThrow(LeaseLostError);
    expect((await eventsOf(db, account)).at(-1)).toEqual(['CANCELED', 5]);
  });

  test('ends a job in inference, which then cannot succeed and costs nothing', async () => {
    const { db, account, id } = await setUp();
    const lease = await infer(db);
    expect(await renew(db, [lease], { now: 6, leaseMs })).toEqual(new Set([lease.token]));
    expect(await cancel(db, id, 7)).toMatchObject({ outcome: 'canceled' });
    expect(await renew(db, [lease], { now: 7, leaseMs })).toEqual(new Set());
    await expect(succeed(db, lease, success, 8)).rejects.toThrow(LeaseLostError);
    expect(await jobOf(db, id)).toMatchObject({ status: 'CANCELED', finished_at: 7, model_key: null });
    expect(await balanceOf(db, account)).toBe(toMicroUsd(10));
    expect((await eventsOf(db, account)).at(-1)).toEqual(['CANCELED', 30]);
  });

  test('is too late for a finished job', async () => {
    const { db, id } = await setUp();
    await succeed(db, await infer(db), success, 0);
    expect(await cancel(db, id, 0)).toMatchObject({ outcome: 'too_late' });
    expect(await cancel(db, 'missing', 0)).toMatchObject({ outcome: 'unknown' });
  });
});
