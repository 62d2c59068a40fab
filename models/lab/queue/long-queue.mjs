// The time of a claim and of a create with a million waiting jobs, and which account's job is claimed first.
import { performance } from 'node:perf_hooks';

const accounts = 1_000;
const jobsPerAccount = 1_000;
const samples = 500;
/** Jobs finished between the two measurements: on PostgreSQL, each leaves dead index entries at the head of the queue. */
const finishedBetween = 5_000;
const maxOpenJobs = 2 * jobsPerAccount;

/**
 * A common table expression `numbers(n)` with 1 to `count`, in the SQL of both databases.
 *
 * @param {number} count
 */
export const numbers = (count) =>
  `with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${count})`;

const waiting = accounts * jobsPerAccount;
/** In the SQL of both databases. Sorted by account, as batches arrive: FIFO would serve one account after another. */
export const longQueue = [
  `insert into accounts (id, name, balance_microusd, created_at)
     ${numbers(accounts)} select 'A' || n, 'bench', 10000000, 0 from numbers`,
  `insert into jobs (id, account_id, type, status, progress, image_url, created_at, turn, prepared) ${numbers(waiting)}
     select '01BENCH' || (10000000 + n), 'A' || (1 + (n - 1) / ${jobsPerAccount}), 'image-to-3d', 'PENDING', 0,
       'https://shop.example/cup.jpg', 0, 1 + (n - 1) % ${jobsPerAccount}, 1 from numbers`,
];

const request = { type: 'image-to-3d', input: { image_urls: ['https://shop.example/cup.jpg'] } };

/**
 * Measures one database that contains `longQueue`.
 *
 * @param {any} server functions from the server's sources
 * @param {any} db open
 * @returns times in ms: `claims` and `creates` at first, `later` claims after jobs were finished; and `position`, the
 *   number of the claim that gets the only job of a new account
 */
export async function measureLongQueue({ claim, createJob, GroupCommit, advance, succeed, currentTime }, db) {
  const stores = { db, inputs: undefined, commits: new GroupCommit(db), maxOpenJobs };
  const claimOne = () => claim(db, { runner: 'bench', now: currentTime(db), leaseMs: 3_600_000 });
  /** @param {string} account */
  const createFor = (account) => createJob(stores, account, request, currentTime(db));
  /** @param {any} job */
  const finish = async ({ id, lease }) => {
    await advance(db, lease, { status: 'QUEUED', progress: 25 }, currentTime(db));
    await advance(db, lease, { status: 'IN_PROGRESS', progress: 30 }, currentTime(db));
    const keys = { modelKey: `${id}/model.glb`, thumbnailKey: `${id}/thumbnail.jpg` };
    const rest = { inferenceMs: 5_000, stageTimes: {}, instance: 'cpu', rateUsdPerSecond: 0 };
    await succeed(db, lease, { ...keys, ...rest }, currentTime(db));
  };

  /** @type {any[]} */
  const claimed = [];
  const claims = await timeEach(async () => claimed.push(await claimOne()));
  const creates = await timeEach((index) => createFor(`A${index + 1}`));
  for (const job of claimed) await finish(job);
  for (let count = samples; count < finishedBetween; count++) await finish(await claimOne());
  const later = await timeEach(claimOne);
  await db
    .insertInto('accounts')
    .values({ id: 'B', name: 'newcomer', sandbox: 0, balance_microusd: 10_000_000, created_at: 0 })
    .execute();
  const { id } = await createFor('B');
  await db.updateTable('jobs').set({ prepared: 1 }).where('id', '=', id).execute();
  let position = 1;
  while ((await claimOne()).id !== id) position++;
  return { claims, creates, later, position };
}

/**
 * @param {(index: number) => Promise<unknown>} work runs `samples` times
 * @returns the times in ms
 */
async function timeEach(work) {
  const times = [];
  for (let index = 0; index < samples; index++) {
    const start = performance.now();
    await work(index);
    times.push(performance.now() - start);
  }
  return times;
}
