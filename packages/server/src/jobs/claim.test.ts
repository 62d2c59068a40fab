import { describe, expect, test } from 'vitest';
import { newAccount, newJob, temporaryDatabase } from '../../test/kit.js';
import { claim, expireLeasesOf, handBack, renew } from './claim.js';
import { advance, LeaseLostError, reap } from './lifecycle.js';

const leaseMs = 30_000;
const by = (runner: string, now: number) => ({ runner, now, leaseMs });

async function withJobs(count: number) {
  const db = await temporaryDatabase();
  const account = await newAccount(db);
  const ids: string[] = [];
  for (let i = 0; i < count; i++) ids.push(await newJob(db, account));
  return { db, account, ids };
}

describe('a claim', () => {
  test('takes the oldest job first, and nothing when nothing is left', async () => {
    const { db, ids } = await withJobs(2);
    expect((await claim(db, by('a', 0)))?.id).toBe(ids[0]);
    expect((await claim(db, by('a', 0)))?.id).toBe(ids[1]);
    expect(await claim(db, by('a', 0))).toBeUndefined();
  });

  test('keeps a job from other runners until its lease has run out', async () => {
    const { db, ids } = await withJobs(1);
    expect(await claim(db, by('a', 0))).toMatchObject({ id: ids[0], attempt: 1 });
    expect(await claim(db, by('b', leaseMs - 1))).toBeUndefined();
    expect(await claim(db, by('b', leaseMs))).toMatchObject({ id: ids[0], attempt: 2 });
  });

  test('tells a job taken over from a silent runner from one that was given back or is new', async () => {
    const { db } = await withJobs(1);
    const first = await claim(db, by('a', 0));
    expect(first).toMatchObject({ taken_over: 0, waitedMs: 0 });
    expect(await claim(db, by('b', leaseMs))).toMatchObject({ taken_over: 1, waitedMs: leaseMs });
    const third = await claim(db, by('c', 2 * leaseMs));
    await handBack(db, third!.lease);
    expect(await claim(db, by('d', 2 * leaseMs))).toMatchObject({ taken_over: 0, waitedMs: 2 * leaseMs });
  });

  test('never gives one job to two runners that ask at once', async () => {
    const { db } = await withJobs(5);
    const claims = await Promise.all(Array.from({ length: 20 }, (_, i) => claim(db, by(`runner ${i}`, 0))));
    const taken = claims.flatMap((job) => job?.id ?? []);
    expect(taken).toHaveLength(5);
    expect(new Set(taken).size).toBe(5);
  });

  test('is refused after three attempts', async () => {
    const { db } = await withJobs(1);
    for (const attempt of [1, 2, 3]) {
      expect(await claim(db, by('a', attempt * leaseMs))).toMatchObject({ attempt });
    }
    expect(await claim(db, by('a', 4 * leaseMs))).toBeUndefined();
  });
});

describe('a lease', () => {
  test('that is renewed holds on', async () => {
    const { db } = await withJobs(1);
    const job = (await claim(db, by('a', 0)))!;
    expect(await renew(db, [job.lease], { now: leaseMs - 1, leaseMs })).toEqual(new Set([job.lease.token]));
    expect(await claim(db, by('b', 2 * leaseMs - 2))).toBeUndefined();
  });

  test('that somebody else has taken over is renewed no more, and its holder can write nothing', async () => {
    const { db } = await withJobs(1);
    const late = (await claim(db, by('a', 0)))!;
    const present = (await claim(db, by('b', leaseMs)))!;
    expect(await renew(db, [late.lease, present.lease], { now: leaseMs, leaseMs })).toEqual(
      new Set([present.lease.token]),
    );
    const to = { status: 'QUEUED', progress: 25 } as const;
    await expect(advance(db, late.lease, to, leaseMs)).rejects.toThrow(LeaseLostError);
    await advance(db, present.lease, to, leaseMs);
  });

  test('that is handed back does not count as an attempt', async () => {
    const { db } = await withJobs(1);
    for (let i = 0; i < 5; i++) {
      const job = (await claim(db, by('a', 0)))!;
      expect(job.attempt).toBe(1);
      await handBack(db, job.lease);
    }
  });

  test('of a runner that died ends at once and counts as an attempt', async () => {
    const { db } = await withJobs(2);
    await claim(db, by('a', 0));
    await claim(db, by('b', 0));
    await expireLeasesOf(db, 'a', 1);
    expect(await claim(db, by('c', 1))).toMatchObject({ attempt: 2 });
    expect(await claim(db, by('c', 1))).toBeUndefined();
  });

  test('of a job that only waited for the slot when its runner died does not count as an attempt', async () => {
    const { db, ids } = await withJobs(2);
    // The first job crashes every runner; the second lies beside it, prepared.
    for (const attempt of [1, 2, 3]) {
      const poison = (await claim(db, by('a', attempt)))!;
      const bystander = (await claim(db, by('a', attempt)))!;
      expect(poison).toMatchObject({ id: ids[0], attempt });
      expect(bystander).toMatchObject({ id: ids[1], attempt: 1 });
      await advance(db, bystander.lease, { status: 'QUEUED', progress: 25 }, attempt);
      await expireLeasesOf(db, 'a', attempt);
    }
    expect(await reap(db, 4)).toBe(1);
    expect(await claim(db, by('b', 4))).toMatchObject({ id: ids[1], attempt: 1 });
  });
});
