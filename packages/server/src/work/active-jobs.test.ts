import { pino } from 'pino';
import { expect, test } from 'vitest';
import { newAccount, newJob, silent, temporaryDatabase, temporaryFolder } from '../../test/kit.js';
import { GroupCommit } from '../data/db/group-commit.js';
import { FolderInputStore } from '../data/inputs/folder-store.js';
import { claim } from '../data/jobs/claim.js';
import { JobFailure } from '../data/jobs/failures.js';
import { fail } from '../data/jobs/lifecycle.js';
import { ActiveJobs } from './active-jobs.js';
import { FileAccess } from './file-access.js';
import { TemporaryFailure } from './stage-failures.js';

const leaseMs = 30_000;

async function setUp(log = silent) {
  const db = await temporaryDatabase();
  const id = await newJob(db, await newAccount(db));
  const inputs = new FolderInputStore(temporaryFolder());
  const jobs = new ActiveJobs({
    db,
    commits: new GroupCommit(db),
    inputs,
    files: new FileAccess(silent),
    config: { preparations: 0, leaseSeconds: leaseMs / 1_000 },
    observer: { claimed() {}, waited() {}, succeeded() {}, failed() {} },
    onEvent: () => {},
    log,
  });
  const row = () => db.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  return { db, jobs, row };
}

test('a job claimed while a drain starts is released without counting an attempt', async () => {
  const { db, jobs, row } = await setUp();
  const held = await jobs.claim('inference', 'a', async () => {
    const job = await claim(db, { runner: 'a', now: 0, leaseMs });
    jobs.stopClaiming();
    return job;
  });
  expect(held).toBeUndefined();
  expect(await row()).toMatchObject({ attempt: 0, lease_token: null, lease_expires_at: null, finished_at: null });
});

test('work that continues after its job was released changes nothing in the database', async () => {
  const { db, jobs, row } = await setUp();
  const held = (await jobs.claim('inference', 'a', () => claim(db, { runner: 'a', now: 0, leaseMs })))!;
  let stop = () => {};
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const failure = new JobFailure('no_foreground', 'There is nothing in the foreground');
  const work = jobs.work(held, () =>
    stopped.then(() => jobs.change(held.job, (trx, now) => fail(trx, held.job.lease, failure, now)).then(() => {})),
  );
  await jobs.releaseAll();
  expect(held.abort.signal.aborted).toBe(true);
  stop();
  await work;
  expect(await row()).toMatchObject({ finished_at: null, attempt: 0, lease_token: null });
});

test('claims that keep failing for one reason are logged once, until a job is worked on', async () => {
  const lines: string[] = [];
  const { db, jobs } = await setUp(pino({}, { write: (line: string) => void lines.push(line) }));
  const fail = (reason: string) => jobs.claim('inference', 'a', () => Promise.reject(new Error(reason)));
  await fail('database or disk is full');
  await fail('database or disk is full');
  await fail('disk I/O error');
  const held = await jobs.claim('inference', 'a', () => claim(db, { runner: 'a', now: 0, leaseMs }));
  await jobs.work(held!, async () => {});
  await fail('disk I/O error');
  const messages = lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
  const [full, broken] = ['database or disk is full; jobs wait', 'disk I/O error; jobs wait'];
  expect(messages).toEqual([full, broken, 'jobs continue after an outage', broken]);
});

test('a job in an outage loses no attempt for a day, and then fails with the reason after three', async () => {
  const { db, jobs, row } = await setUp();
  const dayMs = 24 * 60 * 60_000;
  const attempt = async (now: number) => {
    await db.updateTable('jobs').set({ lease_expires_at: null }).execute();
    const held = await jobs.claim('inference', 'a', () => claim(db, { runner: 'a', now, leaseMs }));
    await jobs.work(held!, () => Promise.reject(new TemporaryFailure('http://10.0.0.7 cannot be reached')));
  };
  await attempt(dayMs - 1);
  expect(await row()).toMatchObject({ attempt: 0, finished_at: null });
  for (let tries = 0; tries < 3; tries++) await attempt(dayMs);
  expect(await row()).toMatchObject({
    status: 'FAILED',
    error_code: 'internal_error',
    error_message:
      'Processing failed 3 times. For a day, the service had no working storage or model server for the job; try again',
  });
});
