import { expect, test } from 'vitest';
import { newAccount, temporaryDatabase } from '../../../test/kit.js';
import { insertJob } from '../jobs/job-store.js';
import { GroupCommit } from './group-commit.js';

const job = (account: string, id: string, key: string | null = null) => ({
  id,
  account_id: account,
  type: 'image-to-3d',
  idempotency_key: key,
  image_url: null,
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
    });
  const made = await Promise.all(['a', 'b', 'c'].map(insert));
  expect(made.map((row) => row?.id)).toEqual(['a', 'b', 'c']);
  expect(transactions.size).toBe(1);
  expect(await ids()).toEqual(['a', 'b', 'c']);
});

test('an operation that fails does not affect the others, and leaves nothing behind', async () => {
  const { commits, account, ids } = await setUp();
  const outcomes = await Promise.allSettled([
    commits.run((trx) => insertJob(trx, job(account, 'a'))),
    commits.run(async (trx) => {
      await insertJob(trx, job(account, 'b'));
      throw new Error('b fails');
    }),
    commits.run((trx) => insertJob(trx, job(account, 'c'))),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(await ids()).toEqual(['a', 'c']);
});

test('of two jobs with the same idempotency key in one transaction, the first is created', async () => {
  const { commits, account, ids } = await setUp();
  const insert = (id: string) => commits.run((trx) => insertJob(trx, job(account, id, 'order-1')));
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
    });
  const later: Promise<unknown>[] = [];
  await commits.run(async (trx) => {
    transactions.add(trx);
    later.push(insert('b'), insert('c'));
    return insertJob(trx, job(account, 'a'));
  });
  await Promise.all(later);
  expect(await ids()).toEqual(['a', 'b', 'c']);
  expect(transactions.size).toBe(2);
});

test('the operations of a group run in a fixed order, however they arrive', async () => {
  const { commits } = await setUp();
  const ran: string[] = [];
  const operation = (name: string) => async () => void ran.push(name);
  await Promise.all([
    commits.run(operation('b 1'), 'b'),
    commits.run(operation('c'), 'c'),
    commits.run(operation('a'), 'a'),
    commits.run(operation('b 2'), 'b'),
  ]);
  expect(ran).toEqual(['a', 'b 1', 'b 2', 'c']);
});
