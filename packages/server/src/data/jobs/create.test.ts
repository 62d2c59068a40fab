import { readdirSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import { newAccount, newJob, temporaryDatabase, temporaryFolder } from '../../../test/kit.js';
import { toMicroUsd } from '../../base/money.js';
import { dayMs } from '../../base/time.js';
import { balanceOf } from '../accounts/ledger.js';
import { countJobsWithoutModel, QuotaError, quotas } from '../accounts/quotas.js';
import type { Db } from '../db/database.js';
import { GroupCommit } from '../db/group-commit.js';
import { FolderInputStore } from '../inputs/folder-store.js';
import { claim, claimForPreparation } from './claim.js';
import { createJob, InsufficientBalanceError, TooManyOpenJobsError } from './create.js';
import { cancel, finishPreparation, type Lease, LeaseLostError, reap, succeed } from './lifecycle.js';
import { availableBalance } from './reservations.js';

const image = 'data:image/png;base64,iVBORw0KGgo=';
const request = { type: 'image-to-3d', input: { image_urls: [image] } };

/** Several API servers of one database, each with its own group commit. Accounts have `earlier` jobs without a model. */
async function setUp(
  maxOpenJobs: number,
  servers = 1,
  reserved = 0,
  maxJobsPerDay = 1_000,
  existing?: Db,
  earlier = 0,
) {
  const db = existing ?? (await temporaryDatabase());
  const folder = temporaryFolder();
  const estimate = async () => reserved;
  const counted = countJobsWithoutModel(db);
  const inputs = new FolderInputStore(folder);
  const stores = Array.from({ length: servers }, () => ({
    db,
    inputs,
    commits: new GroupCommit(db),
    maxOpenJobs,
    maxJobsPerDay,
    keepPhotosDays: 7,
    estimate,
    withoutModel: async (account: string) => earlier + (await counted(account)),
  }));
  let next = 0;
  const create = (account: string, key?: string, now = 0) =>
    createJob(stores[next++ % servers]!, account, { ...request, ...(key && { idempotency_key: key }) }, now);
  return { db, folder, inputs, create };
}

describe('the balance', () => {
  const price = toMicroUsd(2);
  const success = {
    modelKey: 'm/model.glb',
    thumbnailKey: 'm/thumbnail.jpg',
    inferenceMs: 2_000,
    stageTimes: {},
    bundle: 'gen3d-base',
    warnings: [],
    instance: 'cpu',
    rateUsdPerSecond: 1,
  };

  test('ends at most one job below the minimum, whatever is created at once, canceled or crashes', async () => {
    const step = fc.constantFrom('create', 'create', 'create', 'claim', 'claim', 'crash', 'succeed', 'cancel');
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
        const { db, create } = await setUp(1_000, 2, price);
        const account = await newAccount(db);
        const held: Lease[] = [];
        let now = 0;
        for (const each of steps) {
          if (each === 'create') await Promise.allSettled([create(account), create(account), create(account)]);
          if (each === 'claim') {
            const ask = { runner: 'a', now, leaseMs: 1_000, except: [], maxPrepared: 100 };
            const toPrepare = await claimForPreparation(db, ask);
            if (toPrepare) await finishPreparation(db, toPrepare.lease, 1, now);
            const job = await claim(db, ask);
            if (job) held.push(job.lease);
          }
          // The leases of all holders expire; what they write afterwards is refused.
          if (each === 'crash') now += 2_000;
          if (each === 'crash') await reap(db, now);
          const lease = held.shift();
          if (each === 'succeed' && lease) await succeed(db, lease, success, now).catch(ifLeaseLost);
          else if (lease) held.unshift(lease);
          const waiting = await db.selectFrom('jobs').select('id').where('status', '=', 'QUEUED').executeTakeFirst();
          if (each === 'cancel' && waiting) await cancel(db, waiting.id, now);

          const balance = await balanceOf(db, account);
          const { open } = await db
            .selectFrom('jobs')
            .select((eb) => eb.fn.countAll<number>().as('open'))
            .where('finished_at', 'is', null)
            .executeTakeFirstOrThrow();
          const query = db.selectNoFrom(availableBalance(db, account).as('balance'));
          const available = (await query.executeTakeFirstOrThrow()).balance;
          expect(available).toBe(balance - open * price);
          expect(available).toBeGreaterThanOrEqual(toMicroUsd(1) - price);
        }
        await db.destroy();
      }),
      { numRuns: 8, seed: inject('seed') },
    );
  });

  test('refuses a job for which too much is reserved, and says so', async () => {
    const { create, db } = await setUp(1_000, 1, price);
    const account = await newAccount(db);
    const outcomes = await Promise.allSettled(Array.from({ length: 12 }, () => create(account)));
    const refusals = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
    expect(refusals).toHaveLength(7);
    for (const refusal of refusals) {
      expect(refusal).toBeInstanceOf(InsufficientBalanceError);
      expect(refusal).toMatchObject({ balance: 0, message: expect.stringContaining('Wait until') });
    }
  });
});

function ifLeaseLost(error: unknown): void {
  if (!(error instanceof LeaseLostError)) throw error;
}

describe('the limit of open jobs', () => {
  test('holds for concurrent requests to several servers, and each created job has its own turn', async () => {
    const { db, folder, create } = await setUp(10, 3);
    const account = await newAccount(db);
    const outcomes = await Promise.allSettled(Array.from({ length: 50 }, () => create(account)));
    const refusals = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
    expect(refusals).toHaveLength(40);
    for (const refusal of refusals) expect(refusal).toBeInstanceOf(TooManyOpenJobsError);
    const jobs = await db.selectFrom('jobs').select(['id', 'turn']).orderBy('turn').execute();
    expect(jobs.map(({ turn }) => turn)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    // The images of refused jobs have been removed.
    expect(readdirSync(folder).sort()).toEqual(jobs.map(({ id }) => `${id}.front`).sort());
  });

  test('counts only unfinished jobs of the account', async () => {
    const { db, create } = await setUp(2);
    const [account, other] = [await newAccount(db), await newAccount(db)];
    const { id } = await create(account);
    await create(account);
    const ask = { runner: 'a', now: 0, leaseMs: 30_000, maxPrepared: 1 };
    await claimForPreparation(db, ask);
    await expect(create(account)).rejects.toThrow(TooManyOpenJobsError);
    await create(other);
    expect(await cancel(db, id, 0)).toMatchObject({ outcome: 'canceled' });
    await create(account);
    await expect(create(account)).rejects.toThrow(TooManyOpenJobsError);
  });

  test('keeps the images of refused jobs from being written', async () => {
    const { db, inputs, create } = await setUp(1);
    const account = await newAccount(db);
    const { id } = await create(account);
    const stored: string[] = [];
    const put = inputs.put.bind(inputs);
    inputs.put = (jobId, side, bytes) => {
      stored.push(jobId);
      return put(jobId, side, bytes);
    };
    await expect(create(account)).rejects.toThrow(TooManyOpenJobsError);
    expect(stored).toEqual([]);
    expect(await cancel(db, id, 0)).toMatchObject({ outcome: 'canceled' });
    const next = await create(account);
    expect(stored).toEqual([next.id]);
  });

  test('never refuses a repeat of an idempotency key, also on several servers at once', async () => {
    const { db, create } = await setUp(1, 2);
    const account = await newAccount(db);
    const repeats = await Promise.all(Array.from({ length: 20 }, () => create(account, 'order-1')));
    const [first] = repeats as [Awaited<ReturnType<typeof create>>];
    expect(new Set(repeats.map(({ id }) => id)).size).toBe(1);
    expect(await create(account, 'order-1')).toEqual({ id: first.id, created: false });
    await expect(create(account, 'order-2')).rejects.toThrow(TooManyOpenJobsError);
  });
});

describe('the quota of jobs per day', () => {
  test('holds for concurrent requests, starts again at midnight UTC, and never refuses a repeat', async () => {
    const { db, folder, create } = await setUp(1_000, 3, 0, 10);
    const [account, other] = [await newAccount(db), await newAccount(db)];
    const lastMoment = dayMs - 1;
    const outcomes = await Promise.allSettled(
      Array.from({ length: 30 }, (_, index) => create(account, String(index), lastMoment)),
    );
    const jobs = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    expect(jobs).toHaveLength(10);
    expect(readdirSync(folder)).toHaveLength(10);
    const refusal = await create(account, 'one more', lastMoment).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(QuotaError);
    expect(refusal).toMatchObject({ message: expect.stringContaining('10 jobs today') });
    const { key } = await db
      .selectFrom('jobs')
      .select('idempotency_key as key')
      .where('id', '=', jobs[0]!.id)
      .executeTakeFirstOrThrow();
    expect(await create(account, key!, lastMoment)).toEqual({ id: jobs[0]!.id, created: false });
    expect(await create(other, 'first', lastMoment)).toMatchObject({ created: true });
    expect(await create(account, 'next day', dayMs)).toMatchObject({ created: true });
  });
});

test('an account with 100,000 failed and canceled jobs creates no more', async () => {
  const db = await temporaryDatabase();
  const [account, other] = [await newAccount(db), await newAccount(db)];
  for (const status of ['FAILED', 'CANCELED'] as const) await newJob(db, account, { status, finished_at: 0 });
  const { create: withOneLess } = await setUp(1_000, 1, 0, 1_000, db, quotas.jobsWithoutModel - 3);
  await withOneLess(account);
  const { create } = await setUp(1_000, 1, 0, 1_000, db, quotas.jobsWithoutModel - 2);
  await expect(create(account)).rejects.toThrow('100,000 failed or canceled jobs');
  await create(other);
});
