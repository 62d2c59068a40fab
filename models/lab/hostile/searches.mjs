// The delay of one account's reads while others search as fast as they can: with the public test key, whose account has a
// day of jobs at its rate limit, and with the key of an account whose jobs have labels. There is no rate limit.
//
//   node models/lab/bench.mjs searches                       on SQLite
//   node models/lab/bench.mjs searches --database postgres
import { parseArgs } from 'node:util';
import autocannon from 'autocannon';
import { quantile, row } from '../../../scripts/bench/figures.mjs';
import { buildSources } from '../../../scripts/bench/sources.mjs';
import { Failed } from '../../../scripts/processes.mjs';
import { startThrowawayServer } from '../../../scripts/throwaway-server.mjs';
import { call } from './requests.mjs';

const testKey = 'gen3d_test_public';
const sandboxJobs = 864_000;
const labeledJobs = 100_000;
const connections = 100;
const readMs = 100;
const queries = ['search=zzzz', 'search=zzzz&group=done', 'group=failed', ''];

/**
 * Prints a table. Fails if the reads take too long.
 *
 * @param {import('../../../scripts/processes.mjs').AtEnd} atEnd
 */
export async function benchSearches(atEnd) {
  const { values } = parseArgs({
    args: process.argv.slice(3),
    options: { seconds: { type: 'string', default: '10' }, database: { type: 'string', default: 'sqlite' } },
  });
  const { open } = await buildSources(atEnd, 'server', {
    admin: 'src/admin.ts',
    config: 'src/config.ts',
    composition: 'src/composition.ts',
    open: 'test/open-database.ts',
    cluster: 'test/postgres/cluster.ts',
  });
  const [{ openAdmin }, { loadConfig }, { edges }, { openDatabase }, { startCluster }] = await Promise.all(
    ['admin', 'config', 'composition', 'open', 'cluster'].map(open),
  );
  const cluster = values.database === 'postgres' ? await startCluster({ durable: true }) : undefined;
  if (cluster) atEnd(() => void cluster.remove());
  const database = cluster?.url ?? 'sqlite';
  // A larger burst than there are connections: an account may have as many requests in progress.
  const flags = ['--workers', '0', '--rate-limit', '1000000:1000', '--database', database];
  const server = await startThrowawayServer(atEnd, flags);
  const admin = await openAdmin(edges, loadConfig({ dataDir: server.dataDir, database }, {}, {}));
  const { account_id: id } = await admin.createAccount('searcher', 10);
  const { api_key: searcherKey } = await admin.createKey(id);
  await admin.close();

  const db = openDatabase(cluster?.url ?? `${server.dataDir}/gen3d.sqlite`, { withoutTimeout: true });
  const { id: sandbox } = await db.selectFrom('accounts').select('id').where('sandbox', '=', 1).executeTakeFirst();
  await seedJobs(db, sandbox, sandboxJobs, 'null');
  await seedJobs(db, id, labeledJobs, "'photo ' || n || '.jpg'");
  await db.destroy();

  const body = { type: 'image-to-3d', input: { image_urls: ['https://images.invalid/cup.jpg'] } };
  const created = await call('POST', `${server.url}/v1/jobs`, server.apiKey, body);
  const read = () => call('GET', `${server.url}/v1/jobs/${created.body.job_id}`, server.apiKey);
  const ms = Number(values.seconds) * 1_000;

  row('', 'reads', 'p50', 'p99', 'longest', 'searches per second', 'p99 of a search');
  row('---', '--:', '--:', '--:', '--:', '--:', '--:');
  const print = async (/** @type {string} */ name, /** @type {readonly string[]} */ keys) => {
    const searches = keys.map((key) => search(server.url, key, Math.floor(connections / keys.length), ms));
    const reads = await readFor(read, ms);
    const results = await Promise.all(searches);
    const rate = results.reduce((total, { requests }) => total + requests.average, 0);
    const latency = Math.max(0, ...results.map(({ latency: { p99 } }) => p99));
    const times = [0.5, 0.99, 1].map((share) => `${quantile(reads, share).toFixed(1)} ms`);
    row(name, reads.length, ...times, Math.round(rate), `${latency} ms`);
    const failures = results.reduce((total, { non2xx, errors }) => total + non2xx + errors, 0);
    if (failures > 0) throw new Failed(`${failures} searches failed`);
    return quantile(reads, 0.99);
  };
  await print('idle', []);
  const slowest = [
    await print('searches with the test key', [testKey]),
    await print('searches of one account', [searcherKey]),
    await print('both', [testKey, searcherKey]),
  ];
  await server.close();
  if (Math.max(...slowest) > readMs) throw new Failed(`The p99 of the reads is over ${readMs} ms`);
}

const firstSeeded = 10_000_000_000_000;

/**
 * The ids of the jobs that `seedJobs` inserts.
 *
 * @param {string} account
 * @param {number} count
 */
export const seededJobs = (account, count) =>
  Array.from({ length: count }, (_, index) => `01${account.slice(16)}${firstSeeded + 1 + index}`);

/**
 * Inserts finished jobs of an account.
 *
 * @param {any} db
 * @param {string} account
 * @param {number} count
 * @param {string} label an SQL expression of `n`
 * @param {{ charged?: boolean }} [options] `charged` inserts a charge and a dead letter for each, too
 */
export async function seedJobs(db, account, count, label, { charged = false } = {}) {
  const batch = 100_000;
  const id = `'01' || substr('${account}', 17) || cast(${firstSeeded} + n as text)`;
  const run = (/** @type {string} */ text) =>
    db.executeQuery({ sql: text, parameters: [], query: { kind: 'RawNode' } });
  for (let from = 0; from < count; from += batch) {
    const numbers = `with recursive numbers(n) as (
        select ${from + 1} union all select n + 1 from numbers where n < ${Math.min(count, from + batch)}
      )`;
    await run(`
      insert into jobs (id, account_id, type, status, progress, model_key, thumbnail_key, created_at, finished_at, attempt,
        label, label_folded)
      ${numbers} select ${id}, '${account}', 'image-to-3d', 'SUCCEEDED',
        100, 'a/model.glb', 'a/thumbnail.jpg', 1, 2, 1, ${label}, coalesce(${label}, '')
      from numbers`);
    if (!charged) continue;
    await run(`
      insert into ledger (id, account_id, amount_microusd, kind, job_id, instance, inference_ms, created_at)
      ${numbers} select ${id}, '${account}', -1, 'charge', ${id}, 'bench', 1, ${Date.now()} from numbers`);
    await run(`
      insert into events (event_id, account_id, event, job_id, status, progress, created_at)
      ${numbers} select ${id}, '${account}', 'task.updated', ${id}, 'SUCCEEDED', 100, ${Date.now()} from numbers`);
    await run(`
      insert into deliveries (event_id, account_id, state, attempts, due_at, ended_at)
      ${numbers} select ${id}, '${account}', 'dead', 8, 1, 1 from numbers`);
  }
  await run('analyze');
}

/**
 * @param {string} url
 * @param {string} key
 * @param {number} amount of connections
 * @param {number} ms
 * @returns {Promise<import('autocannon').Result>}
 */
const search = (url, key, amount, ms) =>
  // In its own thread, so that it does not delay the reads.
  autocannon({
    url,
    connections: amount,
    duration: ms / 1_000,
    timeout: 60,
    workers: 1,
    headers: { authorization: `Bearer ${key}` },
    requests: queries.map((query) => ({ path: `/gen3d/jobs?${query}` })),
  });

/**
 * Reads on new connections, one after the other.
 *
 * @param {() => Promise<{ status: number, ms: number }>} read
 * @param {number} ms
 */
async function readFor(read, ms) {
  const times = [];
  for (const endsAt = performance.now() + ms; performance.now() < endsAt; ) {
    const { status, ms: time } = await read();
    if (status !== 200) throw new Failed(`A read got ${status}`);
    times.push(time);
  }
  return times;
}
