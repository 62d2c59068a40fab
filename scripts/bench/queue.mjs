// How many jobs a second workers can claim and finish, on SQLite and on PostgreSQL, beside graphile-worker on the same
// PostgreSQL. The three take turns in one run, so what slows the machine slows them alike, and the ratios hold.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeWorkerUtils } from 'graphile-worker';
import { Failed } from '../processes.mjs';
import { requireFrom } from '../repository.mjs';
import { median, quantile, row } from './figures.mjs';
import { longQueue, measureLongQueue } from './long-queue.mjs';
import { buildServerSources } from './server-sources.mjs';

const requireServer = requireFrom('server');
const Database = requireServer('better-sqlite3');
const pg = requireServer('pg');
const workerFile = fileURLToPath(new URL('queue-worker.mjs', import.meta.url));

const workerCounts = [1, 2, 4, 8];
const rounds = 3;
const seconds = 4;
/** More than the fastest of them can finish in a run. */
const jobCount = 20_000;
const accountCount = 20;

/** Prints the section `The queue` of docs/benchmarks.md. */
export async function benchQueue(atEnd) {
  const { code, open } = await buildServerSources(atEnd, {
    claim: 'src/data/jobs/claim.ts',
    create: 'src/data/jobs/create.ts',
    group: 'src/data/db/group-commit.ts',
    lifecycle: 'src/data/jobs/lifecycle.ts',
    open: 'src/data/db/open.ts',
    time: 'src/data/db/time.ts',
    cluster: 'test/postgres/cluster.ts',
  });
  const { migrate, openDatabase } = await open('open');
  const { startCluster } = await open('cluster');
  const cluster = await startCluster({ durable: true });
  atEnd(() => void cluster.remove());
  let made = 0;

  const newPostgres = async () => {
    const name = `bench_${++made}`;
    await inPostgres(cluster.url, `create database ${name}`);
    const url = new URL(cluster.url);
    url.pathname = `/${name}`;
    return url.href;
  };
  const migrated = async (location) => {
    const db = openDatabase(location);
    await migrate(db);
    await db.destroy();
    return location;
  };
  const places = {
    async sqlite() {
      const path = await migrated(join(code, `${++made}.sqlite`));
      const db = new Database(path);
      for (const statement of seeds) db.exec(statement);
      db.close();
      return path;
    },
    async postgres() {
      const url = await migrated(await newPostgres());
      for (const statement of [...seeds, 'vacuum analyze']) await inPostgres(url, statement);
      return url;
    },
    async graphile() {
      const url = await newPostgres();
      const utils = await makeWorkerUtils({ connectionString: url });
      await utils.migrate();
      await utils.release();
      const spec = `('noop', '{}'::json, null, null, null, null, null, null)::graphile_worker.job_spec`;
      const add = `select count(*) from graphile_worker.add_jobs(
        (select array_agg(${spec}) from generate_series(1, ${jobCount})))`;
      for (const statement of [add, 'vacuum analyze']) await inPostgres(url, statement);
      return url;
    },
  };

  const longSqlite = async () => {
    const path = await migrated(join(code, `${++made}.sqlite`));
    const db = new Database(path);
    for (const statement of longQueue) db.exec(statement);
    db.close();
    return path;
  };
  const longPostgres = async () => {
    const url = await migrated(await newPostgres());
    for (const statement of [...longQueue, 'vacuum analyze']) await inPostgres(url, statement);
    return url;
  };

  try {
    const measured = [];
    for (const workers of workerCounts) {
      const of = { workers, sqlite: [], postgres: [], graphile: [] };
      for (let round = 0; round < rounds; round += 1) {
        for (const [system, place] of Object.entries(places)) {
          of[system].push(await measure(system, await place(), workers, code));
        }
      }
      measured.push(of);
    }
    print(measured);
    const modules = await Promise.all(['claim', 'create', 'group', 'lifecycle', 'time'].map(open));
    const functions = Object.assign({}, ...modules);
    const long = {};
    for (const [name, place] of Object.entries({ SQLite: longSqlite, PostgreSQL: longPostgres })) {
      const db = openDatabase(await place());
      long[name] = await measureLongQueue(functions, db);
      await db.destroy();
    }
    printLong(long);
  } finally {
    await cluster.remove();
  }
}

const numbers = (count) =>
  `with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${count})`;
/** In SQL of both databases. Jobs of several accounts, as a service has; the right-hand digits make ids that sort. */
const seeds = [
  `insert into accounts (id, name, created_at) ${numbers(accountCount)} select 'A' || n, 'bench', 0 from numbers`,
  `insert into jobs (id, account_id, type, status, progress, image_url, created_at, prepared) ${numbers(jobCount)}
     select '01BENCH' || (1000000 + n), 'A' || (1 + n % ${accountCount}), 'image-to-3d', 'PENDING', 0,
       'https://shop.example/cup.jpg', 0, 1 from numbers`,
];

async function inPostgres(url, statement) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(statement);
  await client.end();
}

/** Jobs a second that `workers` processes finish together; what a claim takes (the median), and a worker's CPU a job, in ms. */
async function measure(system, place, workers, code) {
  const children = Array.from({ length: workers }, () => fork(workerFile, [system, place, code, String(seconds)]));
  const heard = async (child) => {
    const [message] = await Promise.race([once(child, 'message'), once(child, 'exit')]);
    if (typeof message !== 'object') throw new Failed(`A worker on ${system} ended with ${message}`);
    return message;
  };
  try {
    await Promise.all(children.map(heard));
    const results = Promise.all(children.map(heard));
    for (const child of children) child.send('go');
    const all = await results;
    if (all.some(({ empty }) => empty)) throw new Failed(`${jobCount} jobs were too few for ${workers} on ${system}`);
    const jobs = sum(all.map((one) => one.jobs));
    if (jobs === 0) throw new Failed(`${workers} workers on ${system} finished nothing in ${seconds} s`);
    const claimMs = median(all.flatMap(({ claimsMs }) => claimsMs));
    return { rate: jobs / seconds, claimMs, cpuMs: sum(all.map((one) => one.cpuMs)) / jobs };
  } finally {
    await Promise.all(children.map((child) => child.exitCode === null && once(child, 'exit', child.disconnect())));
  }
}

function print(measured) {
  const whole = (value) => Math.round(value).toLocaleString('en');
  const mid = (runs, figure) => median(runs.map((run) => run[figure]));
  console.log(
    `${whole(jobCount)} waiting jobs; each worker is a process and claims one job after the other. gen3d's is finished with \`succeed\`\n` +
      'as a runner does it (fenced by its lease, with its charge), graphile-worker’s completed with nothing done.\n' +
      'PostgreSQL 18 and SQLite both wait for the disk. The last two columns: how fast gen3d on PostgreSQL is, of graphile-worker.\n' +
      `"CPU a job" is the worker's own. Medians of ${rounds} rounds of ${seconds} s each.\n`,
  );
  const names = { sqlite: 'gen3d, SQLite', postgres: 'gen3d, PostgreSQL', graphile: 'graphile-worker' };
  row('workers', ...Object.values(names).flatMap((name) => [name, 'one claim', 'CPU a job']), 'claims', 'whole jobs');
  row(...Array(12).fill('--:'));
  for (const { workers, ...systems } of measured) {
    const cells = Object.keys(names).flatMap((name) => [
      `${whole(mid(systems[name], 'rate'))} /s`,
      `${mid(systems[name], 'claimMs').toFixed(2)} ms`,
      `${mid(systems[name], 'cpuMs').toFixed(2)} ms`,
    ]);
    const { postgres, graphile } = systems;
    const ratio = (of) => median(postgres.map((run, round) => of(run, graphile[round]))).toFixed(2);
    const claims = ratio((ours, theirs) => theirs.claimMs / ours.claimMs);
    row(
      workers,
      ...cells,
      claims,
      ratio((ours, theirs) => ours.rate / theirs.rate),
    );
  }
}

function printLong(measured) {
  console.log(
    '\n1,000,000 waiting jobs, 1,000 of each of 1,000 accounts. "Later": after 5,000 jobs were finished without a vacuum.\n' +
      '"A newcomer": the number of the claim that gets the only job of an account that has just arrived.\n',
  );
  row('database', 'claim p50', 'p99', 'later p50', 'p99', 'create p50', 'p99', 'a newcomer');
  row('---', ...Array(7).fill('--:'));
  const ms = (values, share) => `${quantile(values, share).toFixed(2)} ms`;
  for (const [name, { claims, later, creates, position }] of Object.entries(measured)) {
    row(
      name,
      ...[claims, later, creates].flatMap((values) => [ms(values, 0.5), ms(values, 0.99)]),
      `claim ${position}`,
    );
  }
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
