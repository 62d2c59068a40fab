import { CompiledQuery, Kysely, sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { edges } from '../src/composition.js';
import { accountsBelowZero } from '../src/data/accounts/accounts.js';
import { countJobsWithoutModel } from '../src/data/accounts/quotas.js';
import type { Tables } from '../src/data/db/tables.js';
import { dataDirOf } from '../src/data/installation/data-dir.js';
import { claim } from '../src/data/jobs/claim.js';
import { finishedJobsByStatus, openJobsByStatus } from '../src/data/jobs/counts.js';
import { countGallery, listGallery } from '../src/data/jobs/gallery.js';
import { enqueueJob, findByOrigin } from '../src/data/jobs/job-store.js';
import { countDeliveries } from '../src/data/webhooks/deliveries.js';
import { listEvents } from '../src/data/webhooks/event-log.js';
import { Metrics } from '../src/web/metrics.js';
import { newAccount, newInstallation, newJob, onPostgres, temporaryFolder } from './kit.js';

interface Recording {
  db: Kysely<Tables>;
  queries: CompiledQuery[];
}

/** A database that records its queries. */
async function recordingDatabase(): Promise<Recording> {
  const { database } = dataDirOf(await newInstallation());
  const dialect = edges.databaseAt(database).dialect(database, {});
  const queries: CompiledQuery[] = [];
  const db = new Kysely<Tables>({ dialect, log: ({ query }) => void queries.push(query) });
  onTestFinished(() => db.destroy());
  return { db, queries };
}

/** The plan of a query, one line per step. */
async function planOf(
  db: Kysely<Tables>,
  { sql, parameters }: CompiledQuery,
  avoided = ['seqscan', 'bitmapscan', 'sort'],
): Promise<string> {
  return db.connection().execute(async (connection) => {
    // For the small tables of a test, PostgreSQL would otherwise prefer to read and sort all rows.
    for (const name of onPostgres ? avoided : []) {
      await connection.executeQuery(CompiledQuery.raw(`set enable_${name} = off`));
    }
    const explain = onPostgres ? 'explain' : 'explain query plan';
    const { rows } = await connection.executeQuery(CompiledQuery.raw(`${explain} ${sql}`, [...parameters]));
    return rows.map((row) => String(Object.values(row as object).at(-1))).join('\n');
  });
}

/** Indexes of some rows of a table, such as the unfinished jobs. A query may read such an index from end to end. */
async function partialIndexes(db: Kysely<Tables>): Promise<Set<string>> {
  const { rows } = onPostgres
    ? await sql<{ name: string }>`select indexname as name from pg_indexes where indexdef like '% WHERE %'`.execute(db)
    : await sql<{ name: string }>`select name from sqlite_master where sql like 'create %index % where %'`.execute(db);
  return new Set(rows.map(({ name }) => name));
}

/** The steps of the queries that `run` makes that read a whole table, directly or through an index of all its rows. */
async function wholeTableReads({ db, queries }: Recording, run: () => Promise<unknown>): Promise<string[]> {
  queries.length = 0;
  await run();
  expect(queries).not.toEqual([]);
  const plans = await Promise.all(
    [...queries].map((query) => planOf(db, query, ['seqscan', 'bitmapscan', 'mergejoin', 'hashjoin'])),
  );
  const partial = await partialIndexes(db);
  const scan = onPostgres
    ? /Seq Scan on \w+|Index (?:Only )?Scan (?:Backward )?using (\w+) on .*(?!\n +Index Cond)$/gm
    : /^SCAN (?:jobs|accounts|ledger|events|deliveries)(?: USING (?:COVERING )?INDEX (\w+))?$/gm;
  return plans.flatMap((plan) =>
    [...plan.matchAll(scan)].filter(([, index]) => !partial.has(index ?? '')).map(([step]) => step),
  );
}

/** An account with unfinished, succeeded and failed jobs. */
async function accountWithJobs(db: Kysely<Tables>): Promise<string> {
  const account = await newAccount(db);
  for (let i = 0; i < 10; i++) {
    await newJob(db, account);
    await newJob(db, account, { status: 'SUCCEEDED', progress: 100, finished_at: Date.now() });
    await newJob(db, account, { status: 'FAILED' });
  }
  return account;
}

test('metrics, the dashboard and a retry read no whole table', async () => {
  const recording = await recordingDatabase();
  const { db } = recording;
  const account = await accountWithJobs(db);
  for (const run of [
    () => openJobsByStatus(db),
    () => finishedJobsByStatus(db, 1_000),
    () => countDeliveries(db),
    () => accountsBelowZero(db),
    () => listEvents(db, account),
    () => listEvents(db, account, { jobId: 'job' }),
    () => countJobsWithoutModel(db)(account),
    () => findByOrigin(db, account, { retryOf: 'job' }).execute(),
  ]) {
    expect(await wholeTableReads(recording, run)).toEqual([]);
  }
  // A query that does.
  const balances = () => db.selectFrom('accounts').select('balance_microusd').execute();
  expect(await wholeTableReads(recording, balances)).toHaveLength(1);
});

test('the gallery reads each page and each count from an index, and the newest jobs in the order of the page', async () => {
  const recording = await recordingDatabase();
  const { db, queries } = recording;
  const account = await accountWithJobs(db);
  const page = { limit: 5 };
  for (const run of [
    () => listGallery(db, account, { ...page, group: 'in_progress' }),
    () => listGallery(db, account, page),
    () => listGallery(db, account, { ...page, search: 'x' }),
    () => countGallery(db, account, undefined),
    () => countGallery(db, account, 'x'),
  ]) {
    expect(await wholeTableReads(recording, run)).toEqual([]);
  }
  await listGallery(db, account, { ...page, group: 'in_progress' });
  expect(await planOf(db, queries.at(-1)!)).not.toMatch(/TEMP B-TREE|-> +Sort/);
});

test('the next job and the next turn are found by indexes, however many jobs wait', async () => {
  const { db, queries } = await recordingDatabase();
  const account = await newAccount(db);
  const id = await newJob(db, account);
  const readsWholeTable = /SCAN (jobs|accounts)$|Seq Scan|TEMP B-TREE|Sort/m;
  // The guarantee is the order of these indexes: any other one would have to be read until a job fits. Their names stand
  // here because a plan shows the same SCAN for an index that is read to its end and for one that is left at its first row.
  expect((await claim(db, { runner: 'a', now: 0, leaseMs: 30_000 }))?.id).toBe(id);
  const claimPlan = await planOf(db, queries.find(({ sql }) => sql.startsWith('update "jobs"'))!);
  expect(claimPlan).toContain('jobs_to_infer');
  expect(claimPlan).not.toMatch(readsWholeTable);

  const job = {
    id: 'b',
    account_id: account,
    type: 'image-to-3d',
    idempotency_key: null,
    image_urls: null,
    created_at: 0,
  };
  expect(await enqueueJob(db, job, { maxOpenJobs: 1_000, maxJobsPerDay: 1_000 })).toBeGreaterThan(0);
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
