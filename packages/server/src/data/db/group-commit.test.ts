import { expect, test } from 'vitest';
import { newAccount, onPostgres, temporaryDatabase } from '../../../test/kit.js';
import { insertJob } from '../jobs/job-store.js';
import { GroupCommit } from './group-commit.js';
import { LogSyncError } from './log-sync.js';
import { mayBeCommitted } from './unavailable.js';

const job = (account: string, id: string, key: string | null = null) => ({
  id,
  account_id: account,
  type: 'image-to-3d',
  idempotency_key: key,
  image_urls: null,
  created_at: 0,
});

async function setUp() {
  const db = await temporaryDatabase();
  const account = await newAccount(db);
  const ids = async () => (await db.selectFrom('jobs').select('id').orderBy('id').execute()).map(({ id }) => id);
  return { db, account, ids, commits: new GroupCommit(db) };
}

test('operations that arrive together share a transaction, and each gets its own result', async () => {
  const { commits, account, ids } = await setUp();
  const transactions = new Set<unknown>();
  const insert = (id: string) =>
    commits.run(async (trx) => {
      transactions.add(trx);
      return insertJob(trx, job(account, id));
    }, account);
  const made = await Promise.all(['a', 'b', 'c'].map(insert));
  expect(made.map((row) => row?.id)).toEqual(['a', 'b', 'c']);
  expect(transactions.size).toBe(1);
  expect(await ids()).toEqual(['a', 'b', 'c']);
});

test('an operation that fails does not affect the others, and leaves nothing behind', async () => {
  const { commits, account, ids } = await setUp();
  const outcomes = await Promise.allSettled([
    commits.run((trx) => insertJob(trx, job(account, 'a')), account),
    commits.run(async (trx) => {
      await insertJob(trx, job(account, 'b'));
      throw new Error('b fails');
    }, account),
    commits.run((trx) => insertJob(trx, job(account, 'c')), account),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(await ids()).toEqual(['a', 'c']);
});

test('operations whose transaction may be committed do not run again', async () => {
  const { commits, account } = await setUp();
  let runs = 0;
  const fail = async () => {
    runs++;
    if (runs === 2) throw new LogSyncError('Cannot sync the log');
  };
  const outcomes = await Promise.allSettled([commits.run(fail, account), commits.run(fail, account)]);
  expect(outcomes.map((outcome) => outcome.status === 'rejected' && mayBeCommitted(outcome.reason))).toEqual([
    true,
    true,
  ]);
  expect(runs).toBe(2);
});

test('of two jobs with the same idempotency key in one transaction, the first is created', async () => {
  const { commits, account, ids } = await setUp();
  const insert = (id: string) => commits.run((trx) => insertJob(trx, job(account, id, 'order-1')), account);
  const [first, second] = await Promise.all([insert('a'), insert('b')]);
  expect(first?.id).toBe('a');
  expect(second).toBeUndefined();
  expect(await ids()).toEqual(['a']);
});

test('operations that arrive during a commit share the next one', async () => {
  const { commits, account, ids } = await setUp();
  const transactions = new Set<unknown>();
  const insert = (id: string) =>
    commits.run(async (trx) => {
      transactions.add(trx);
      return insertJob(trx, job(account, id));
    }, account);
  const later: Promise<unknown>[] = [];
  await commits.run(async (trx) => {
    transactions.add(trx);
    later.push(insert('b'), insert('c'));
    return insertJob(trx, job(account, 'a'));
  }, account);
  await Promise.all(later);
  expect(await ids()).toEqual(['a', 'b', 'c']);
  expect(transactions.size).toBe(2);
});

test('operations of an account wait for its own transactions only', async () => {
  const { commits } = await setUp();
  const ran: string[] = [];
  let release = () => {};
  const hold = new Promise<void>((resolve) => {
    release = resolve;
  });
  const operation = (name: string) => async () => void ran.push(name);
  const held = commits.run(() => hold, 'busy');
  const later = Array.from({ length: 30 }, (_, index) => commits.run(operation(`busy ${index}`), 'busy'));
  const other = commits.run(operation('other'), 'other');
  // SQLite has one transaction at a time. There, the other account waits for the one that runs, and for a group.
  if (onPostgres) await other;
  release();
  await Promise.all([held, ...later, other]);
  expect(ran.indexOf('other')).toBeLessThanOrEqual(onPostgres ? 0 : 20);
  expect(ran.filter((name) => name.startsWith('busy'))).toEqual(later.map((_, index) => `busy ${index}`));
});
