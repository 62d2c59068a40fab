import { CompiledQuery, Kysely } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { newAccount, newInstallation, newJob, onPostgres, temporaryFolder } from '../../../test/kit.js';
import { listEvents } from '../../web/dashboard/events.js';
import { Metrics } from '../../web/http/metrics.js';
import { accountsBelowZero } from '../accounts/accounts.js';
import { dataDirOf } from '../installation/data-dir.js';
import { finishedJobsByStatus, openJobsByStatus } from '../jobs/counts.js';
import { outboxCounts } from '../webhooks/outbox.js';
import { migrate } from './open.js';
import { postgresDialect } from './postgres.js';
import { sqliteDialect } from './sqlite.js';
import type { Tables } from './tables.js';

/** A database that keeps the queries it is asked. */
async function recordingDatabase() {
  const { database } = dataDirOf(await newInstallation());
  const dialect = onPostgres ? postgresDialect(database, {}) : sqliteDialect(database);
  const queries: CompiledQuery[] = [];
  const db = new Kysely<Tables>({ dialect, log: ({ query }) => void queries.push(query) });
  onTestFinished(() => db.destroy());
  if (!onPostgres) await migrate(db);
  return { db, queries };
}

/** The plan of a query, one line a step. */
async function planOf(db: Kysely<Tables>, { sql, parameters }: CompiledQuery): Promise<string> {
  return db.connection().execute(async (connection) => {
    // The tables of a test are so small that reading them whole is cheapest.
    if (onPostgres) await connection.executeQuery(CompiledQuery.raw('set enable_seqscan = off'));
    const explain = onPostgres ? 'explain' : 'explain query plan';
    const { rows } = await connection.executeQuery(CompiledQuery.raw(`${explain} ${sql}`, [...parameters]));
    return rows.map((row) => String(Object.values(row as object).at(-1))).join('\n');
  });
}

test('what metrics and dashboard count and list is read from indexes, never from whole tables', async () => {
  const { db, queries } = await recordingDatabase();
  const account = await newAccount(db);
  for (let i = 0; i < 20; i++) {
    await newJob(db, account);
    await newJob(db, account, { status: 'SUCCEEDED', progress: 100, finished_at: Date.now() });
  }
  const planAfter = async (ask: () => Promise<unknown>) => {
    queries.length = 0;
    await ask();
    const asked = [...queries];
    return Promise.all(asked.map((query) => planOf(db, query)));
  };
  expect(await planAfter(() => openJobsByStatus(db))).toEqual([expect.stringContaining('jobs_open_by_status')]);
  expect(await planAfter(() => finishedJobsByStatus(db, 1_000))).toEqual([expect.stringContaining('jobs_finished')]);
  expect(await planAfter(() => outboxCounts(db))).toEqual([
    expect.stringContaining('outbox_waiting'),
    expect.stringContaining('outbox_dead'),
  ]);
  expect(await planAfter(() => accountsBelowZero(db))).toEqual([expect.stringContaining('accounts_below_zero')]);
  const [waiting] = await planAfter(() => listEvents(db, account));
  expect(waiting).toContain('outbox_of_account');
});

test('concurrent scrapes and scrapes within a second share the queries of one', async () => {
  const { db, queries } = await recordingDatabase();
  const metrics = new Metrics(db, temporaryFolder());
  const texts = await Promise.all([metrics.text(), metrics.text(), metrics.text()]);
  const asked = queries.length;
  expect(asked).toBeGreaterThan(4);
  expect(new Set(texts).size).toBe(1);
  await metrics.text();
  expect(queries.length).toBe(asked);
});
