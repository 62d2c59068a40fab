import { jobStatuses } from '@gen3d/schema';
import { CompiledQuery, Kysely } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { accountsBelowZero } from '../src/data/accounts/accounts.js';
import type { Tables } from '../src/data/db/tables.js';
import { dataDirOf } from '../src/data/installation/data-dir.js';
import { claim } from '../src/data/jobs/claim.js';
import { finishedJobsByStatus, openJobsByStatus } from '../src/data/jobs/counts.js';
import { countGallery, listGallery } from '../src/data/jobs/gallery.js';
import { enqueueJob, findByOrigin } from '../src/data/jobs/job-store.js';
import { listEvents } from '../src/data/webhooks/event-log.js';
import { outboxCounts } from '../src/data/webhooks/outbox.js';
import { edges } from '../src/edges.js';
import { Metrics } from '../src/web/http/metrics.js';
import { newAccount, newInstallation, newJob, onPostgres, temporaryFolder } from './kit.js';

/** A database that records its queries. */
async function recordingDatabase() {
  const { database } = dataDirOf(await newInstallation());
  const dialect = edges.databaseAt(database).dialect(database, {});
  const queries: CompiledQuery[] = [];
  const db = new Kysely<Tables>({ dialect, log: ({ query }) => void queries.push(query) });
  onTestFinished(() => db.destroy());
  return { db, queries };
}

/** The plan of a query, one line per step. */
async function planOf(db: Kysely<Tables>, { sql, parameters }: CompiledQuery): Promise<string> {
  return db.connection().execute(async (connection) => {
    // For the small tables of a test, PostgreSQL would otherwise prefer to read and sort all rows.
    for (const name of onPostgres ? ['seqscan', 'bitmapscan', 'sort'] : []) {
      await connection.executeQuery(CompiledQuery.raw(`set enable_${name} = off`));
    }
    const explain = onPostgres ? 'explain' : 'explain query plan';
    const { rows } = await connection.executeQuery(CompiledQuery.raw(`${explain} ${sql}`, [...parameters]));
    return rows.map((row) => String(Object.values(row as object).at(-1))).join('\n');
  });
}

test('metrics and dashboard read counts and lists from indexes, never from whole tables', async () => {
  const { db, queries } = await recordingDatabase();
  const account = await newAccount(db);
  for (let i = 0; i < 20; i++) {
    await newJob(db, account);
    await newJob(db, account, { status: 'SUCCEEDED', progress: 100, finished_at: Date.now() });
  }
  const plansOf = async (run: () => Promise<unknown>) => {
    queries.length = 0;
    await run();
    return Promise.all([...queries].map((query) => planOf(db, query)));
  };
  expect(await plansOf(() => openJobsByStatus(db))).toEqual([expect.stringContaining('jobs_open_by_status')]);
  expect(await plansOf(() => finishedJobsByStatus(db, 1_000))).toEqual([expect.stringContaining('jobs_finished')]);
  expect(await plansOf(() => outboxCounts(db))).toEqual([
    expect.stringContaining('outbox_waiting'),
    expect.stringContaining('outbox_dead'),
  ]);
  expect(await plansOf(() => accountsBelowZero(db))).toEqual([expect.stringContaining('accounts_below_zero')]);
  const [waiting] = await plansOf(() => listEvents(db, account));
  expect(waiting).toContain('outbox_of_account');
});

test('the gallery finds each page and each count in an index, in the order of the page', async () => {
  const { db, queries } = await recordingDatabase();
  const account = await newAccount(db);
  for (let i = 0; i < 20; i++) await newJob(db, account, { status: i % 2 ? 'FAILED' : 'PENDING' });
  const plan = async (run: () => Promise<unknown>) => {
    await run();
    return planOf(db, queries.at(-1)!);
  };
  const page = { visibility: 'visible', limit: 5 } as const;
  const newest = await plan(() => listGallery(db, account, { ...page, sort: 'newest', group: 'in_progress' }));
  expect(newest.match(/jobs_in_gallery/g)).toHaveLength(3);
  const counts = await plan(() => countGallery(db, account, undefined));
  expect(counts.match(/jobs_in_gallery/g)).toHaveLength(2 * jobStatuses.length);
  // The newest jobs are an inner query, so the condition on labels is not applied to others.
  const byName = await plan(() => listGallery(db, account, { ...page, sort: 'name' }));
  const found = await plan(() => listGallery(db, account, { ...page, sort: 'newest', search: 'x' }));
  const foundCounts = await plan(() => countGallery(db, account, 'x'));
  for (const text of [byName, found, foundCounts]) expect(text).toMatch(/jobs_of_account( |$)/m);
  for (const text of [newest, counts, byName, found, foundCounts]) expect(text).not.toMatch(/SCAN jobs$|Seq Scan/m);
});

test('the retry of a job is found in an index', async () => {
  const { db, queries } = await recordingDatabase();
  const account = await newAccount(db);
  await findByOrigin(db, account, { retryOf: 'job' }).execute();
  expect(await planOf(db, queries.at(-1)!)).toContain('jobs_retry');
});

test('the next job and the next turn are found by indexes, however many jobs wait', async () => {
  const { db, queries } = await recordingDatabase();
  const account = await newAccount(db);
  const id = await newJob(db, account);
  const readsWholeTable = /SCAN (jobs|accounts)$|Seq Scan|TEMP B-TREE|Sort/m;
  expect((await claim(db, { runner: 'a', now: 0, leaseMs: 30_000 }))?.id).toBe(id);
  const claimPlan = await planOf(db, queries.at(-1)!);
  expect(claimPlan).toContain('jobs_to_infer');
  expect(claimPlan).not.toMatch(readsWholeTable);

  const job = {
    id: 'b',
    account_id: account,
    type: 'image-to-3d',
    idempotency_key: null,
    image_url: null,
    created_at: 0,
  };
  expect(await enqueueJob(db, job, { maxOpenJobs: 1_000, maxJobsPerDay: 1_000 })).toMatchObject({ turn: 2 });
  const insertPlan = await planOf(db, queries.at(-1)!);
  for (const index of ['jobs_open_of_account', 'accounts_turn', 'jobs_to_prepare', 'jobs_to_infer']) {
    expect(insertPlan).toContain(index);
  }
  expect(insertPlan).not.toMatch(readsWholeTable);
});

test('concurrent scrapes and scrapes within a second share the queries of one', async () => {
  const { db, queries } = await recordingDatabase();
  const metrics = new Metrics(db, temporaryFolder());
  const texts = await Promise.all([metrics.text(), metrics.text(), metrics.text()]);
  const count = queries.length;
  expect(count).toBeGreaterThan(4);
  expect(new Set(texts).size).toBe(1);
  await metrics.text();
  expect(queries.length).toBe(count);
});
