import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { newAccount, temporaryDatabase, temporaryFolder } from '../../../test/kit.js';
import { GroupCommit } from '../db/group-commit.js';
import { FolderInputStore } from '../inputs/folder-store.js';
import { claimForPreparation } from './claim.js';
import { createJob, TooManyOpenJobsError } from './create.js';
import { advance, cancel } from './lifecycle.js';

const image = 'data:image/png;base64,iVBORw0KGgo=';
const request = { type: 'image-to-3d', input: { image_urls: [image] } };

/** Several API servers of one database, each with its own group commit. */
async function setUp(maxOpenJobs: number, servers = 1) {
  const db = await temporaryDatabase();
  const folder = temporaryFolder();
  const inputs = new FolderInputStore(folder);
  const stores = Array.from({ length: servers }, () => ({ db, inputs, commits: new GroupCommit(db), maxOpenJobs }));
  let next = 0;
  const create = (account: string, key?: string) =>
    createJob(stores[next++ % servers]!, account, { ...request, ...(key && { idempotency_key: key }) }, 0);
  return { db, folder, inputs, create };
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
    expect(readdirSync(folder).sort()).toEqual(jobs.map(({ id }) => id).sort());
  });

  test('counts only unfinished jobs of the account', async () => {
    const { db, create } = await setUp(2);
    const [account, other] = [await newAccount(db), await newAccount(db)];
    const { id } = await create(account);
    await create(account);
    const ask = { runner: 'a', now: 0, leaseMs: 30_000, maxPrepared: 1 };
    const job = (await claimForPreparation(db, ask))!;
    await advance(db, job.lease, { status: 'PENDING', progress: 5 }, 0);
    await expect(create(account)).rejects.toThrow(TooManyOpenJobsError);
    await create(other);
    expect(await cancel(db, id, 0)).toBe('canceled');
    await create(account);
    await expect(create(account)).rejects.toThrow(TooManyOpenJobsError);
  });

  test('keeps the images of refused jobs from being written', async () => {
    const { db, inputs, create } = await setUp(1);
    const account = await newAccount(db);
    const { id } = await create(account);
    const stored: string[] = [];
    const put = inputs.put.bind(inputs);
    inputs.put = (jobId, bytes) => {
      stored.push(jobId);
      return put(jobId, bytes);
    };
    await expect(create(account)).rejects.toThrow(TooManyOpenJobsError);
    expect(stored).toEqual([]);
    expect(await cancel(db, id, 0)).toBe('canceled');
    const next = await create(account);
    expect(stored).toEqual([next.id]);
  });

  test('never refuses a repeat of an idempotency key', async () => {
    const { db, create } = await setUp(1);
    const account = await newAccount(db);
    const [first, second] = await Promise.all([create(account, 'order-1'), create(account, 'order-1')]);
    expect(second.id).toBe(first.id);
    expect(await create(account, 'order-1')).toEqual({ id: first.id, created: false });
    await expect(create(account, 'order-2')).rejects.toThrow(TooManyOpenJobsError);
  });
});
