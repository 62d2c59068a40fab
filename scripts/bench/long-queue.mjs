// How long a claim and a create take with a million waiting jobs, and which account comes first.
import { performance } from 'node:perf_hooks';

const accounts = 1_000;
const jobsPerAccount = 1_000;
const samples = 500;
/** Finished between the two measurements: on PostgreSQL, each leaves dead index entries at the head of the queue. */
const finishedBetween = 5_000;
const maxOpenJobs = 2 * jobsPerAccount;

const numbers = (count) =>
  `with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${count})`;
const waiting = accounts * jobsPerAccount;
/** In SQL of both databases. Account by account, as batches come: FIFO would serve one after the other. */
export const longQueue = [
  `insert into accounts (id, name, balance_microusd, created_at)
     ${numbers(accounts)} select 'A' || n, 'bench', 10000000, 0 from numbers`,
  `insert into jobs (id, account_id, type, status, progress, image_url, created_at, turn, prepared) ${numbers(waiting)}
     select '01BENCH' || (10000000 + n), 'A' || (1 + (n - 1) / ${jobsPerAccount}), 'image-to-3d', 'PENDING', 0,
       'https://shop.example/cup.jpg', 0, 1 + (n - 1) % ${jobsPerAccount}, 1 from numbers`,
];

const request = { type: 'image-to-3d', input: { image_urls: ['https://shop.example/cup.jpg'] } };

/**
 * Measures one database that holds `longQueue`. `code` has the server's functions; `db` is open.
 *
 * @returns medians and 99th percentiles in ms, and how many jobs are claimed before a newcomer's
 */
export async function measureLongQueue({ claim, createJob, GroupCommit, advance, succeed, currentTime }, db) {
  const commits = new GroupCommit(db);
  const stores = { db, inputs: undefined, commits, maxOpenJobs };
  const claimOne = () => claim(db, { runner: 'bench', now: currentTime(db), leaseMs: 3_600_000 });
  const createFor = (account) => createJob(stores, account, request, currentTime(db));
  const finish = async (job) => {
    await advance(db, job.lease, { status: 'QUEUED', progress: 25 }, currentTime(db));
    await advance(db, job.lease, { status: 'IN_PROGRESS', progress: 30 }, currentTime(db));
    const keys = { modelKey: `${job.id}/model.glb`, thumbnailKey: `${job.id}/thumbnail.jpg` };
    const rest = { inferenceMs: 5_000, stageTimes: {}, instance: 'cpu', rateUsdPerSecond: 0 };
    await succeed(db, job.lease, { ...keys, ...rest }, currentTime(db));
  };

  const claims = [];
  const claimed = [];
  for (let count = 0; count < samples; count += 1) {
    const began = performance.now();
    claimed.push(await claimOne());
    claims.push(performance.now() - began);
  }
  const creates = [];
  for (let count = 1; count <= samples; count += 1) {
    const began = performance.now();
    await createFor(`A${count}`);
    creates.push(performance.now() - began);
  }
  for (const job of claimed) await finish(job);
  for (let count = samples; count < finishedBetween; count += 1) await finish(await claimOne());
  const later = [];
  for (let count = 0; count < samples; count += 1) {
    const began = performance.now();
    await claimOne();
    later.push(performance.now() - began);
  }
  await db
    .insertInto('accounts')
    .values({ id: 'B', name: 'newcomer', sandbox: 0, balance_microusd: 10_000_000, created_at: 0 })
    .execute();
  const { id } = await createFor('B');
  await db.updateTable('jobs').set({ prepared: 1 }).where('id', '=', id).execute();
  let position = 1;
  while ((await claimOne()).id !== id) position += 1;
  return { claims, creates, later, position };
}
