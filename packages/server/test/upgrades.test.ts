// Data directories of earlier versions, written by scripts/upgrade-fixture.mjs with the code of each version.
// `first-schema` is from the first commit that had a whole service, with the first migration only.
import { cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Balance, ListJobsResponse, WebhookEndpoint } from '@gen3d/schema';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { migrations } from '../src/data/db/migrations.js';
import { openDatabase } from '../src/data/db/open.js';
import { openSqlite } from '../src/data/db/sqlite-connection.js';
import { callServer, finishedJob, startServer, temporaryFolder } from './kit.js';

const fixtures = fileURLToPath(new URL('upgrades', import.meta.url));
const apiKey = 'gen3d_0123456789abcdefghijklmnopqrstuvwxyzABCD';

/** The data directory of a fixture, as if it had just been written, because gen3d deletes old records. */
function dataDirOf(name: string): string {
  const dataDir = temporaryFolder();
  for (const kept of ['assets', 'inputs', 'server.key']) {
    cpSync(join(fixtures, name, kept), join(dataDir, kept), { recursive: true });
  }
  // Git does not store empty folders.
  mkdirSync(join(dataDir, 'inputs'), { recursive: true });
  const database = openSqlite(join(dataDir, 'gen3d.sqlite'), { busyTimeoutMs: 0 });
  database.exec(readFileSync(join(fixtures, name, 'gen3d.sql'), 'utf8'));
  const [[createdAt] = []] = database.prepare('select max(created_at) from jobs').all([]);
  const ageMs = Date.now() - Number(createdAt);
  for (const column of ['created_at', 'finished_at']) database.exec(`update jobs set ${column} = ${column} + ${ageMs}`);
  database.close();
  return dataDir;
}

describe.each(readdirSync(fixtures))('a data directory of %s', (name) => {
  test('opens with its keys, jobs, models, balance and webhook, and its waiting job is finished', async () => {
    const dataDir = dataDirOf(name);
    const server = await startServer({ dataDir, workers: 1, noTestKey: true, rates: { cpu: 0 }, instance: 'cpu' });
    expect(server.bootstrap).toBeUndefined();
    const call = (method: string, path: string, body?: unknown) => callServer(server.url, method, path, body, apiKey);

    const { jobs } = ListJobsResponse.parse((await call('GET', '/v1/jobs')).body);
    const [waiting, failed, succeeded] = jobs;
    expect(jobs).toHaveLength(3);
    expect(failed).toMatchObject({ status: 'FAILED', error: { code: 'unsupported_type' } });
    expect(succeeded).toMatchObject({ status: 'SUCCEEDED', progress: 100 });
    const [folder = ''] = readdirSync(join(fixtures, name, 'assets', succeeded!.task_id));
    const model = await fetch(succeeded!.model_urls!.glb);
    expect(Buffer.from(await model.arrayBuffer())).toEqual(
      readFileSync(join(fixtures, name, 'assets', succeeded!.task_id, folder, 'model.glb')),
    );
    expect(await finishedJob(call, waiting!.task_id)).toMatchObject({ status: 'SUCCEEDED' });

    const { balance_usd: balance } = Balance.parse((await call('GET', '/v1/balance')).body);
    expect(balance).toBeGreaterThan(0);
    expect(balance).toBeLessThan(10);
    // The secret can be decrypted with the server key.
    const endpoint = WebhookEndpoint.parse((await call('GET', '/v1/webhook-endpoint')).body);
    expect(endpoint).toEqual({ url: 'https://127.0.0.1:1/hook', secret: expect.stringMatching(/^whsec_/) });
    // An idempotency key still finds its job.
    const again = { type: 'reserved', input: {}, idempotency_key: 'succeeded' };
    expect((await call('POST', '/v1/jobs', again)).body).toEqual({ job_id: succeeded!.task_id });
    await server.close({ graceMs: 0 });

    const db = openDatabase(join(dataDir, 'gen3d.sqlite'));
    const applied = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db);
    expect(applied.rows.map(({ name }) => name)).toEqual(Object.keys(migrations));
    expect((await sql`pragma foreign_key_check`.execute(db)).rows).toEqual([]);
    await db.destroy();
  });
});
