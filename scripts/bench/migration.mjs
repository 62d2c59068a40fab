// How long `gen3d admin migrate-to` takes for 100,000 jobs, and a backup of them: prints the figures of
// docs/operations/backup-and-moving.md. Says so, and fails, where a count differs or the server does not work afterwards.
//
//   node scripts/bench/migration.mjs [JOBS]
import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { Failed, main, start, stop } from '../processes.mjs';
import { gen3dBin, requireFrom } from '../repository.mjs';
import { startThrowawayServer } from '../throwaway-server.mjs';
import { buildServerSources } from './server-sources.mjs';

const requireServer = requireFrom('server');
const Database = requireServer('better-sqlite3');
const pg = requireServer('pg');

const jobCount = Number(process.argv[2] ?? 100_000);
const waitingEvents = jobCount / 20;
const dayMs = 24 * 3_600_000;

await main(async (atEnd) => {
  const { open } = await buildServerSources(atEnd, { cluster: 'test/postgres/cluster.ts' });
  const { startCluster } = await open('cluster');
  console.log(`${cpus()[0].model}, ${cpus().length} cores, Node ${process.version}`);
  // What else runs here slows all of it.
  console.log(`load average before: ${loadavg()[0].toFixed(1)}\n`);
  const sqlite = await startThrowawayServer(atEnd, ['--workers', '0']);
  await sqlite.close();
  const dataDir = join(sqlite.folder, 'data');
  const path = join(dataDir, 'gen3d.sqlite');
  seed(path);

  const backup = join(sqlite.folder, 'gen3d.backup');
  const backupSeconds = await timed(() => succeeded(sqlite.gen3d(['admin', 'backup', backup])));
  console.log(`backup: ${backupSeconds} s, ${megabytes(backup)} MB of a database of ${megabytes(path)} MB`);

  const cluster = await startCluster({ durable: true });
  try {
    const killed = await newDatabase(cluster.url, 'killed');
    const rows = await killHalfway(sqlite, killed);
    const restSeconds = await timed(() => succeeded(sqlite.gen3d(['admin', 'migrate-to', killed])));
    console.log(`killed with ${rows.toLocaleString('en')} jobs there: the second run took ${restSeconds} s`);

    const database = await newDatabase(cluster.url, 'gen3d');
    let counts = '';
    const seconds = await timed(async () => {
      counts = await succeeded(sqlite.gen3d(['admin', 'migrate-to', database]));
    });
    console.log(`migrate-to without a break: ${seconds} s\n\n${counts}`);
    const unequal = counts
      .trimEnd()
      .split('\n')
      .slice(1)
      .filter((line) => /(\d+) +(\d+)$/.exec(line)?.[1] !== /(\d+)$/.exec(line)?.[1]);
    if (unequal.length > 0) throw new Failed(`These counts differ:\n${unequal.join('\n')}`);
    await checkServer(dataDir, database, sqlite.apiKey);
  } finally {
    await cluster.remove();
  }
});

/** Jobs of 60 days, most of them finished and charged; one in twenty has an event that still waits. */
function seed(path) {
  const db = new Database(path);
  const account = db.prepare('select id from accounts where sandbox = 0').pluck().get();
  const insert = (table, row) =>
    db
      .prepare(`insert into ${table} (${Object.keys(row)}) values (${Object.keys(row).map((name) => `@${name}`)})`)
      .run(row);
  db.transaction(() => {
    db.prepare('insert into webhook_endpoints values (?, ?, ?, ?)').run(account, 'https://shop.example/hook', 'v1.', 0);
    for (let index = 0; index < jobCount; index += 1) {
      const created_at = Date.now() - Math.round(60 * dayMs * (1 - index / jobCount));
      const id = ulid(created_at, index);
      const isOpen = index >= jobCount - 500;
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
          id: ulid(created_at + 9_000, index),
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
          event_id: ulid(created_at + 1, index),
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

/** A ULID whose random part counts, so that no two are the same and their order is known. */
function ulid(time, index) {
  const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
  const encode = (value, length) =>
    Array.from({ length }, (_, at) => digits[Math.floor(value / 32 ** (length - 1 - at)) % 32]).join('');
  return encode(time, 10) + encode(index, 16);
}

async function newDatabase(url, name) {
  await query(url, `create database ${name}`);
  const database = new URL(url);
  database.pathname = `/${name}`;
  return database.href;
}

async function query(url, statement) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

/** `kill -9` once half of the jobs have arrived. Returns how many are there then. */
async function killHalfway(sqlite, database) {
  const args = [gen3dBin, 'admin', 'migrate-to', database, '--data-dir', join(sqlite.folder, 'data')];
  const moving = start(process.execPath, args, { stdio: 'ignore' });
  const count = async () => {
    const [row] = await query(database, 'select count(*)::int as count from jobs').catch(() => []);
    return row?.count ?? 0;
  };
  while (moving.child.exitCode === null && (await count()) < jobCount / 2);
  moving.child.kill('SIGKILL');
  await moving.ended;
  return count();
}

async function checkServer(dataDir, database, apiKey) {
  const args = [gen3dBin, 'serve', '--port', '0', '--workers', '0', '--data-dir', dataDir, '--database', database];
  const env = { ...process.env, GEN3D_CONFIG_DIR: join(dataDir, 'profile') };
  const running = start(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const url = await new Promise((resolve, reject) => {
    running.child.stdout.on('data', () => {
      const found = /listening on (http:\S+)/.exec(running.output.stdout);
      if (found) resolve(found[1]);
    });
    running.ended.then(({ both }) => reject(new Failed(`The server did not start.\n${both}`)), reject);
  });
  const get = async (what) => {
    const answer = await fetch(url + what, { headers: { authorization: `Bearer ${apiKey}` } });
    if (!answer.ok) throw new Failed(`GET ${what} answered ${answer.status}`);
    return answer.json();
  };
  let listed = 0;
  let cursor = '';
  const pages = jobCount / 100;
  const seconds = await timed(async () => {
    for (let page = 0; page < pages; page += 1) {
      const { jobs, next_cursor } = await get(`/v1/jobs?limit=100${cursor && `&cursor=${cursor}`}`);
      listed += jobs.length;
      cursor = next_cursor;
    }
  });
  const { balance_usd } = await get('/v1/balance');
  const wanted = 10 - ((jobCount - 500) * 0.95 * 50) / 1_000_000;
  console.log(
    `\na server on it: lists ${listed.toLocaleString('en')} jobs in ${seconds} s, balance ${balance_usd} USD`,
  );
  if (listed !== jobCount) throw new Failed(`It should list ${jobCount} jobs`);
  if (Math.abs(balance_usd - wanted) > 1e-9) throw new Failed(`The balance should be ${wanted} USD`);
  await stop(running);
}

async function timed(work) {
  const from = performance.now();
  await work();
  return ((performance.now() - from) / 1_000).toFixed(1);
}

async function succeeded(ended) {
  const { code, stdout, stderr } = await ended;
  if (code !== 0) throw new Failed(`gen3d ended with ${code}\n${stderr ?? ''}`);
  return stdout;
}

function megabytes(path) {
  return Math.round(statSync(path).size / 1e6);
}
