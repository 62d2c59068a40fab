import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { newAccount, newJob, temporaryDatabase } from '../../../test/kit.js';
import type { Db } from '../db/database.js';
import {
  claim,
  claimForPreparation,
  everyAccount,
  firstInQueue,
  release,
  renew,
  type SkippedAccounts,
  stagesWithJobs,
} from './claim.js';
import { JobFailure } from './failures.js';
import { advance, cancel, fail, failAttempt, finishPreparation, type Lease, LeaseLostError } from './lifecycle.js';

const leaseMs = 30_000;
const by = (runner: string, now: number) => ({ runner, now, leaseMs });

async function withJobs(count: number) {
  const db = await temporaryDatabase();
  const account = await newAccount(db);
  const ids: string[] = [];
  for (let i = 0; i < count; i++) ids.push(await newJob(db, account));
  return { db, account, ids };
}

/** A machine claims the first job, loses its power, and its lease expires. */
async function expireAttempt(db: Db, runner: string): Promise<void> {
  await claim(db, by(runner, 0));
  await db.updateTable('jobs').set({ lease_expires_at: 0 }).where('runner', '=', runner).execute();
}

describe('a claim', () => {
  test('takes a job whose lease was written while the clock was days ahead', async () => {
    const { db, ids } = await withJobs(2);
    const wrong = 5 * 86_400_000;
    await claim(db, by('a', wrong));
    const { lease } = (await claim(db, by('a', wrong)))!;
    await release(db, lease, { ms: 15_000, now: wrong });
    expect(await claim(db, by('b', 0))).toMatchObject({ id: ids[0] });
    expect(await claim(db, by('b', 0))).toMatchObject({ id: ids[1] });
    expect(await claim(db, by('b', 0))).toBeUndefined();
  });

  test('keeps a job from other runners until its lease has expired, and reports that it was taken over', async () => {
    const { db } = await withJobs(1);
    expect(await claim(db, by('a', 0))).toMatchObject({ attempt: 1, taken_over: 0, waitedMs: 0 });
    expect(await claim(db, by('b', leaseMs - 1))).toBeUndefined();
    expect(await claim(db, by('b', leaseMs))).toMatchObject({ attempt: 2, taken_over: 1, waitedMs: leaseMs });
    const third = await claim(db, by('c', 2 * leaseMs));
    await release(db, third!.lease);
    expect(await claim(db, by('d', 2 * leaseMs))).toMatchObject({ taken_over: 0, waitedMs: 2 * leaseMs });
  });

  test('never gives a job to two runners that claim at the same time', async () => {
    const { db } = await withJobs(5);
    const claims = await Promise.all(Array.from({ length: 20 }, (_, i) => claim(db, by(`runner ${i}`, 0))));
    const taken = claims.flatMap((job) => job?.id ?? []);
    expect(taken).toHaveLength(5);
    expect(new Set(taken).size).toBe(5);
  });

  test('by a runner with other jobs takes no job that was attempted before, and none behind it', async () => {
    const { db, ids } = await withJobs(2);
    await expireAttempt(db, 'a');
    const withOthers = { ...by('b', 0), holdsOthers: true };
    expect(await claim(db, withOthers)).toBeUndefined();
    expect(await claim(db, by('b', 0))).toMatchObject({ id: ids[0], attempt: 2 });
    expect(await claim(db, withOthers)).toMatchObject({ id: ids[1], attempt: 1 });
  });

  test('follows the order of the queue, which jobs leave when their inference starts', async () => {
    const { db, account, ids } = await withJobs(2);
    const ofOther = await newJob(db, await newAccount(db, 'other'), { prepared: 0 });
    const [first, second] = ids;
    expect(await firstInQueue(db, 10)).toEqual([first, ofOther, second]);
    expect(await firstInQueue(db, 2)).toEqual([first, ofOther]);

    await claim(db, by('a', 0));
    const last = await newJob(db, account);
    expect(await firstInQueue(db, 10)).toEqual([ofOther, second, last]);
  });
});

/** Claims the next job and starts its inference, as a runner does. */
const serve = async (db: Db, now = 0) => (await claim(db, by('a', now)))!;

const finish = (db: Db, { lease }: Awaited<ReturnType<typeof serve>>) =>
  fail(db, lease, new JobFailure('no_foreground', 'There is nothing in the foreground'), 0);

/** Accounts of the given names with as many jobs each, one account after the other. */
async function withQueue(counts: Readonly<Record<string, number>>) {
  const db = await temporaryDatabase();
  const accounts = new Map<string, string>();
  const add = async (name: string, count = 1) => {
    if (!accounts.has(name)) accounts.set(name, await newAccount(db, name));
    for (let i = 0; i < count; i++) await newJob(db, accounts.get(name)!);
  };
  for (const [name, count] of Object.entries(counts)) await add(name, count);
  const nameOf = (id: string) => [...accounts].find(([, account]) => account === id)?.[0] ?? '';
  /** The accounts of the next jobs; each job is done before the next is claimed. */
  const served = async (count: number) => {
    let names = '';
    for (let i = 0; i < count; i++) {
      const job = await serve(db);
      await finish(db, job);
      names += nameOf(job.account_id);
    }
    return names;
  };
  return { db, accounts, add, nameOf, served };
}

describe('the queue', () => {
  test('gives each account one job per round, in the order they were created', async () => {
    const { db, served } = await withQueue({ A: 50, B: 1, C: 3 });
    expect(await served(54)).toBe(`ABCACAC${'A'.repeat(47)}`);
    const jobs = await db.selectFrom('jobs').select(['id', 'account_id']).orderBy('turn').execute();
    const ofA = jobs.filter(({ account_id }) => account_id === jobs[0]!.account_id).map(({ id }) => id);
    expect(ofA).toEqual(ofA.toSorted());
  });

  test('gives a late account its share from then on, without compensation for the past', async () => {
    const { add, served } = await withQueue({ A: 50 });
    expect(await served(20)).toBe('A'.repeat(20));
    await add('B', 10);
    expect(await served(8)).toBe('BABABABA');
    await add('C');
    expect(await served(4)).toMatch(/^(?=.*C.*)(?=.*A.*)(?=.*B.*)/);
  });

  test('does not let accounts that submit again after every finished job delay a batch', async () => {
    const { add, served } = await withQueue({ A: 20, D: 1, E: 1 });
    let names = '';
    for (let i = 0; i < 30; i++) {
      const name = await served(1);
      names += name;
      if (name !== 'A') await add(name);
    }
    expect(names.replace(/[^A]/g, '')).toHaveLength(10);
    expect(names).not.toMatch(/[DE]{3}/);
  });

  test('does not let an account with a job in inference start another one before its turn', async () => {
    const { db, add, nameOf } = await withQueue({ A: 3, B: 1 });
    const names: string[] = [];
    for (let i = 0; i < 6; i++) {
      const job = await serve(db);
      names.push(nameOf(job.account_id));
      if (names.at(-1) === 'B') await add('B');
    }
    expect(names.join('')).toBe('ABABAB');
  });

  test('does not set an account back for jobs without inference', async () => {
    const { db, accounts, add, served } = await withQueue({ A: 30, B: 10 });
    const ofB = await db.selectFrom('jobs').select('id').where('account_id', '=', accounts.get('B')!).execute();
    for (const { id } of ofB) expect(await cancel(db, id, 0)).toMatchObject({ outcome: 'canceled' });
    await add('B', 3);
    expect(await served(6)).toBe('ABABAB');
  });

  test('does not set other accounts back when a turn starts early because jobs before it failed', async () => {
    const { db, accounts, add, served } = await withQueue({ A: 50 });
    expect(await served(5)).toBe('AAAAA');
    await add('F', 30);
    const ofF = await db
      .selectFrom('jobs')
      .select('id')
      .where('account_id', '=', accounts.get('F')!)
      .orderBy('turn', 'desc')
      .execute();
    // All jobs of F but the last fail, and when that one is prepared, none of A's next jobs is.
    const setPrepared = (prepared: number) =>
      db.updateTable('jobs').set({ prepared }).where('account_id', '=', accounts.get('A')!).execute();
    await setPrepared(0);
    for (const { id } of ofF.slice(1)) expect(await cancel(db, id, 0)).toMatchObject({ outcome: 'canceled' });
    expect(await served(1)).toBe('F');
    await add('B', 2);
    await setPrepared(1);
    await add('C', 2);
    expect(await served(9)).toBe('ABCABCAAA');
  });

  test('keeps the turn of a job that is released, taken over, or whose runner terminated', async () => {
    const { db, add, nameOf } = await withQueue({ A: 3 });
    const first = (await claim(db, by('a', 0)))!;
    await add('B');
    expect(nameOf((await claim(db, by('b', 0)))!.account_id)).toBe('B');
    await release(db, first.lease);
    const again = (await claim(db, by('c', 0)))!;
    expect(again.id).toBe(first.id);
    const last = (await claim(db, by('d', leaseMs)))!;
    expect(last.id).toBe(first.id);
    await failAttempt(db, last.lease, 0, leaseMs);
    expect((await claim(db, by('e', leaseMs)))!.id).toBe(first.id);
  });
});

describe('a lease', () => {
  test('that is renewed does not expire', async () => {
    const { db } = await withJobs(1);
    const job = (await claim(db, by('a', 0)))!;
    expect(await renew(db, [job.lease], { now: leaseMs - 1, leaseMs })).toEqual(new Set([job.lease.token]));
    expect(await claim(db, by('b', 2 * leaseMs - 2))).toBeUndefined();
  });

  test('is renewed with others in the order of their accounts, so that machines cannot deadlock', async () => {
    const { db } = await withJobs(1);
    for (const name of ['b', 'c']) await newJob(db, await newAccount(db, name));
    const held: Lease[] = [];
    for (let job = await claim(db, by('a', 0)); job; job = await claim(db, by('a', 0))) held.push(job.lease);
    expect(held).toHaveLength(3);
    // The id of each event has another time, so that ids have the order of the events.
    let ms = Date.now();
    onTestFinished(vi.spyOn(Date, 'now').mockImplementation(() => ++ms).mockRestore);
    const accounts = async () => {
      const rows = await db.selectFrom('events').select('account_id').orderBy('event_id').execute();
      return rows.slice(-3).map(({ account_id }) => account_id);
    };
    for (const [reached, leases] of [held, held.toReversed()].entries()) {
      await renew(
        db,
        leases.map((lease) => ({ ...lease, reached: 50 + reached })),
        { now: 0, leaseMs },
      );
      expect(await accounts()).toEqual((await accounts()).toSorted());
      expect(new Set(await accounts()).size).toBe(3);
    }
  });

  test('that another runner took over cannot be renewed, and its old holder cannot write', async () => {
    const { db } = await withJobs(1);
    const late = (await claim(db, by('a', 0)))!;
    const present = (await claim(db, by('b', leaseMs)))!;
    expect(await renew(db, [late.lease, present.lease], { now: leaseMs, leaseMs })).toEqual(
      new Set([present.lease.token]),
    );
    const to = { status: 'IN_PROGRESS', progress: 50 } as const;
    await expect(advance(db, late.lease, to, leaseMs)).rejects.toThrow(LeaseLostError);
    await advance(db, present.lease, to, leaseMs);
  });

  test('of a failed attempt ends, and counts', async () => {
    const { db } = await withJobs(2);
    const failed = (await claim(db, by('a', 0)))!;
    await claim(db, by('b', 0));
    await failAttempt(db, failed.lease, 1, 0);
    expect(await claim(db, by('c', 0))).toBeUndefined();
    expect(await claim(db, by('c', 1))).toMatchObject({ attempt: 2, taken_over: 0 });
    expect(await claim(db, by('c', 1))).toBeUndefined();
  });

  test('is known to be free by the stage of its job', async () => {
    const { db } = await withJobs(1);
    expect(await stagesWithJobs(db, 0)).toEqual(new Set(['inference']));
    await claim(db, by('a', 0));
    expect(await stagesWithJobs(db, 0)).toEqual(new Set());
    await newJob(db, await newAccount(db, 'other'), { prepared: 0 });
    expect(await stagesWithJobs(db, leaseMs)).toEqual(new Set(['preparation', 'inference']));
  });
});

describe('a claim for preparation', () => {
  const ask = { ...by('machine', 0), maxPrepared: 100 };
  const toPrepare = { prepared: 0 };

  test('takes unprepared jobs, and a claim for inference takes prepared ones', async () => {
    const { db, account, ids } = await withJobs(1);
    const id = await newJob(db, account, toPrepare);
    expect((await claimForPreparation(db, ask))?.id).toBe(id);
    expect((await claim(db, by('a', 0)))?.id).toBe(ids[0]);
    expect(await claimForPreparation(db, ask)).toBeUndefined();
    expect(await claim(db, by('a', 0))).toBeUndefined();
  });

  test('lets accounts take turns, and skips remote or inline images of some accounts or of all', async () => {
    const { db, account } = await withJobs(0);
    const other = await newAccount(db, 'other');
    const first = await newJob(db, account, toPrepare);
    const second = await newJob(db, account, toPrepare);
    const inline = await newJob(db, account, { ...toPrepare, image_urls: null });
    const ofOther = await newJob(db, other, toPrepare);
    const next = async (inline: SkippedAccounts, remote: SkippedAccounts) =>
      (await claimForPreparation(db, { ...ask, skipped: { inline, remote } }))?.id;
    expect(await next([], [])).toBe(first);
    expect(await next([account], [account])).toBe(ofOther);
    expect(await next([account], [account])).toBeUndefined();
    expect(await next(everyAccount, [account])).toBeUndefined();
    expect(await next([other], everyAccount)).toBe(inline);
    expect(await next(everyAccount, [])).toBe(second);
  });

  test('takes nothing when enough prepared jobs wait, except a job whose inference comes before theirs', async () => {
    const { db, account } = await withJobs(3);
    await newJob(db, account, toPrepare);
    expect(await claimForPreparation(db, { ...ask, maxPrepared: 3 })).toBeUndefined();
    const early = await newJob(db, await newAccount(db, 'other'), toPrepare);
    expect((await claimForPreparation(db, { ...ask, maxPrepared: 3 }))?.id).toBe(early);
    // A runner takes one of the three.
    await claim(db, by('a', 0));
    expect(await claimForPreparation(db, { ...ask, maxPrepared: 3 })).toMatchObject({ account_id: account });
  });

  test('does not count prepared jobs that cannot be claimed yet', async () => {
    const { db, account, ids } = await withJobs(1);
    const { lease } = (await claim(db, by('a', 0)))!;
    await release(db, lease, { ms: 15_000, now: 0 });
    const id = await newJob(db, account, toPrepare);
    expect((await claimForPreparation(db, { ...ask, maxPrepared: 1 }))?.id).toBe(id);
    expect(ids).not.toContain(id);
  });

  test('counts its attempts separately from those at inference', async () => {
    const { db } = await withJobs(0);
    const account = await newAccount(db, 'other');
    const id = await newJob(db, account, toPrepare);
    const first = await claimForPreparation(db, ask);
    await failAttempt(db, first!.lease, 0, 0);
    const second = (await claimForPreparation(db, ask))!;
    expect(second).toMatchObject({ id, attempt: 2, prepareMs: 0 });
    await finishPreparation(db, second.lease, 120, 0);
    expect(await claim(db, by('a', 0))).toMatchObject({ id, attempt: 1, prepareMs: 120 });
  });
});
