// The duration of `gen3d admin migrate-to` with 100,000 jobs, and of a backup of them: the figures of
// docs/operations/backup-and-moving.md. Fails if a count differs or if the server does not work afterwards.
//
//   node models/lab/queue/migration.mjs [JOBS]
import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { Sqlite, seededUlid } from '../../../scripts/bench/databases.mjs';
import { buildSources } from '../../../scripts/bench/sources.mjs';
import { Failed, main, start, stop } from '../../../scripts/processes.mjs';
import { gen3dBin } from '../../../scripts/repository.mjs';
import { listeningUrl, startThrowawayServer } from '../../../scripts/throwaway-server.mjs';
import { createPostgresDatabase } from './postgres.mjs';

const jobCount = Number(process.argv[2] ?? 100_000);
const openJobs = 500;
const waitingEvents = jobCount / 20;
const dayMs = 24 * 3_600_000;

await main(async (atEnd) => {
  const { open } = await buildSources(atEnd, 'server', { cluster: 'test/postgres/cluster.ts' });
  const { startCluster } = await open('cluster');
  console.log(`${cpus()[0]?.model}, ${cpus().length} cores, Node ${process.version}`);
  // Other programs on the machine slow everything here.
  console.log(`load average before: ${loadavg()[0].toFixed(1)}\n`);
  const sqlite = await startThrowawayServer(atEnd, ['--workers', '0']);
  await sqlite.close();
  const path = join(sqlite.dataDir, 'gen3d.sqlite');
  seed(path);

  const backup = join(sqlite.folder, 'gen3d.backup');
  const backupSeconds = await timed(() => succeeded(sqlite.gen3d(['admin', 'backup', backup])));
  console.log(`backup: ${backupSeconds} s, ${megabytes(backup)} MB from a database of ${megabytes(path)} MB`);

  const cluster = await startCluster({ durable: true });
  try {
    const database = await createPostgresDatabase(cluster.url, 'gen3d');
    let counts = '';
    const seconds = await timed(async () => {
      counts = await succeeded(sqlite.gen3d(['admin', 'migrate-to', database]));
    });
    console.log(`migrate-to: ${seconds} s\n\n${counts}`);
    const unequal = counts
      .trimEnd()
      .split('\n')
      .slice(1)
      .filter((line) => /(\d+) +(\d+)$/.exec(line)?.[1] !== /(\d+)$/.exec(line)?.[1]);
    if (unequal.length > 0) throw new Failed(`These counts differ:\n${unequal.join('\n')}`);
    await checkServer(sqlite.dataDir, database, sqlite.apiKey);
  } finally {
    await cluster.remove();
  }
});

/**
 * Inserts jobs of 60 days, most of them finished and charged. One in 20 has an undelivered event.
 *
 * @param {string} path
 */
function seed(path) {
  const db = new Sqlite(path);
  const account = db.prepare('select id from accounts where sandbox = 0').pluck().get();
  /** @type {(table: string, row: Record<string, unknown>) => unknown} */
  const insert = (table, row) =>
    db
      .prepare(`insert into ${table} (${Object.keys(row)}) values (${Object.keys(row).map((name) => `@${name}`)})`)
      .run(row);
  db.transaction(() => {
    db.prepare('insert into webhook_endpoints values (?, ?, ?, ?)').run(account, 'https://shop.example/hook', 'v1.', 0);
    for (let index = 0; index < jobCount; index++) {
      const created_at = Date.now() - Math.round(60 * dayMs * (1 - index / jobCount));
      const id = seededUlid(created_at, index);
      const isOpen = index >= jobCount - openJobs;
      const failed = !isOpen && index % 20 === 0;
      const succeeded = !isOpen && !failed;
      const folder = `${id}/${randomBytes(16).toString('hex').slice(0, 22)}`;
      insert('jobs', {
        id,
        account_id: account,
        type: 'image-to-3d',
        idempotency_key: `order-${index}`,
        image_url: `https://shop.example/photos/${index}.jpg`,
        status: isOpen ? 'PENDING' : failed ? 'FAILED' : 'SUCCEEDED',
        progress: isOpen ? 0 : 100,
        error_code: failed ? 'no_foreground' : null,
        error_message: failed ? 'No object stands out from the background' : null,
        model_key: succeeded ? `${folder}/model.glb` : null,
        thumbnail_key: succeeded ? `${folder}/thumbnail.jpg` : null,
        created_at,
        finished_at: isOpen ? null : created_at + 9_000,
        attempt: isOpen ? 0 : 1,
      });
      if (succeeded) {
        insert('ledger', {
          id: seededUlid(created_at + 9_000, index),
          account_id: account,
          amount_microusd: -50,
          kind: 'charge',
          job_id: id,
          instance: 'cpu',
          inference_ms: 8_000,
          created_at: created_at + 9_000,
        });
      }
      if (index % (jobCount / waitingEvents) === 0) {
        insert('outbox', {
          event_id: seededUlid(created_at + 1, index),
          account_id: account,
          event: 'task.updated',
          job_id: id,
          status: 'SUCCEEDED',
          progress: 100,
          created_at,
          due_at: created_at + 365 * dayMs,
        });
      }
    }
    db.prepare(
      'update accounts set balance_microusd = (select sum(amount_microusd) from ledger where account_id = accounts.id)',
    ).run();
  })();
  db.close();
}

/**
 * Starts a server on the new database, lists all jobs and checks the balance.
 *
 * @param {string} dataDir
 * @param {string} database URL
 * @param {string} apiKey
 */
async function checkServer(dataDir, database, apiKey) {
  const args = [gen3dBin, 'serve', '--port', '0', '--workers', '0', '--data-dir', dataDir, '--database', database];
  const env = { ...process.env, GEN3D_CONFIG_DIR: join(dataDir, 'profile') };
  const server = start(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const url = await listeningUrl(server);
  /** @param {string} path */
  const get = async (path) => {
    const response = await fetch(url + path, { headers: { authorization: `Bearer ${apiKey}` } });
    if (!response.ok) throw new Failed(`GET ${path} returned ${response.status}`);
    return response.json();
  };
  let listed = 0;
  const seconds = await timed(async () => {
    let cursor = '';
    do {
      const { jobs, next_cursor } = await get(`/v1/jobs?limit=100${cursor && `&cursor=${cursor}`}`);
      listed += jobs.length;
      cursor = next_cursor;
    } while (cursor);
  });
  const { balance_usd } = await get('/v1/balance');
  const expected = 10 - ((jobCount - openJobs) * 0.95 * 50) / 1_000_000;
  console.log(
    `\na server on the new database: lists ${listed.toLocaleString('en')} jobs in ${seconds} s, balance ${balance_usd} USD`,
  );
  if (listed !== jobCount) throw new Failed(`It should list ${jobCount} jobs`);
  if (Math.abs(balance_usd - expected) > 1e-9) throw new Failed(`The balance should be ${expected} USD`);
  await stop(server);
}

/**
 * @param {() => Promise<unknown>} work
 * @returns seconds
 */
async function timed(work) {
  const start = performance.now();
  await work();
  return ((performance.now() - start) / 1_000).toFixed(1);
}

/** @param {import('../../../scripts/processes.mjs').Program['ended']} ended */
async function succeeded(ended) {
  const { code, stdout, stderr } = await ended;
  if (code !== 0) throw new Failed(`gen3d exited with ${code}\n${stderr}`);
  return stdout;
}

/** @param {string} path */
function megabytes(path) {
  return Math.round(statSync(path).size / 1e6);
}
