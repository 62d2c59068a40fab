// The number of jobs per second that workers claim and finish: gen3d on SQLite and on PostgreSQL, and graphile-worker
// on the same PostgreSQL. The three take turns, so other programs on the machine slow them equally.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { makeWorkerUtils } from 'graphile-worker';
import { Sqlite } from '../../../scripts/bench/databases.mjs';
import { median, quantile, row, sum } from '../../../scripts/bench/figures.mjs';
import { buildSources } from '../../../scripts/bench/sources.mjs';
import { Failed } from '../../../scripts/processes.mjs';
import { longQueue, measureLongQueue, numbers } from './long-queue.mjs';
import { createPostgresDatabase, queryPostgres } from './postgres.mjs';

const workerFile = join(import.meta.dirname, 'bench-worker.mjs');
const workerCounts = [1, 2, 4, 8];
const rounds = 3;
const seconds = 4;
/** More than the fastest system can finish in a run. */
const jobCount = 20_000;
const accountCount = 20;

const systems = {
  sqlite: 'gen3d, SQLite',
  postgres: 'gen3d, PostgreSQL',
  graphile: 'graphile-worker',
};
/** @typedef {keyof typeof systems} System */
const systemNames = /** @type {System[]} */ (Object.keys(systems));

/** @typedef {{ rate: number, claimMs: number, cpuMs: number }} Figures */
/** @typedef {{ workers: number, figures: Record<System, Figures[]> }} Measured by round */
/** @typedef {Awaited<ReturnType<typeof measureLongQueue>>} LongQueueFigures */

/**
 * Prints the section `The queue` of docs/benchmarks.md.
 *
 * @param {import('../../../scripts/processes.mjs').AtEnd} atEnd
 */
export async function benchQueue(atEnd) {
  const { code, open } = await buildSources(atEnd, 'server', {
    claim: 'src/data/jobs/claim.ts',
    create: 'src/data/jobs/create.ts',
    group: 'src/data/db/group-commit.ts',
    lifecycle: 'src/data/jobs/lifecycle.ts',
    migrate: 'src/data/db/open.ts',
    open: 'test/open-database.ts',
    time: 'src/data/db/time.ts',
    cluster: 'test/postgres/cluster.ts',
  });
  const [{ migrate }, { openDatabase }] = await Promise.all([open('migrate'), open('open')]);
  const { startCluster } = await open('cluster');
  const cluster = await startCluster({ durable: true });
  atEnd(() => void cluster.remove());
  let databases = 0;

  /** @param {string} location */
  const migrated = async (location) => {
    const db = openDatabase(location);
    await migrate(db);
    await db.destroy();
    return location;
  };
  /** @param {readonly string[]} statements */
  const seededSqlite = async (statements) => {
    const path = await migrated(join(code, `${++databases}.sqlite`));
    const db = new Sqlite(path);
    for (const statement of statements) db.exec(statement);
    db.close();
    return path;
  };
  const newPostgres = () => createPostgresDatabase(cluster.url, `bench_${++databases}`);
  /** @param {readonly string[]} statements */
  const seededPostgres = async (statements) => {
    const url = await migrated(await newPostgres());
    for (const statement of [...statements, 'vacuum analyze']) await queryPostgres(url, statement);
    return url;
  };
  const seededGraphile = async () => {
    const url = await newPostgres();
    const utils = await makeWorkerUtils({ connectionString: url });
    await utils.migrate();
    await utils.release();
    const spec = `('noop', '{}'::json, null, null, null, null, null, null)::graphile_worker.job_spec`;
    const add = `select count(*) from graphile_worker.add_jobs(
      (select array_agg(${spec}) from generate_series(1, ${jobCount})))`;
    for (const statement of [add, 'vacuum analyze']) await queryPostgres(url, statement);
    return url;
  };
  /** @type {Record<System, () => Promise<string>>} */
  const locations = {
    sqlite: () => seededSqlite(seeds),
    postgres: () => seededPostgres(seeds),
    graphile: seededGraphile,
  };

  try {
    const measured = [];
    for (const workers of workerCounts) {
      /** @type {Measured['figures']} */
      const figures = { sqlite: [], postgres: [], graphile: [] };
      for (let round = 0; round < rounds; round++) {
        for (const system of systemNames) {
          figures[system].push(await measure(system, await locations[system](), workers, code));
        }
      }
      measured.push({ workers, figures });
    }
    print(measured);
    const modules = await Promise.all(['claim', 'create', 'group', 'lifecycle', 'time'].map(open));
    const functions = Object.assign({}, ...modules);
    /** @param {string} location */
    const measureLong = async (location) => {
      const db = openDatabase(location);
      const figures = await measureLongQueue(functions, db);
      await db.destroy();
      return figures;
    };
    printLong({
      SQLite: await measureLong(await seededSqlite(longQueue)),
      PostgreSQL: await measureLong(await seededPostgres(longQueue)),
    });
  } finally {
    await cluster.remove();
  }
}

/** In the SQL of both databases. Jobs of several accounts; the digits make ids that sort. */
const seeds = [
  `insert into accounts (id, name, created_at) ${numbers(accountCount)} select 'A' || n, 'bench', 0 from numbers`,
  `insert into jobs (id, account_id, type, status, progress, image_url, created_at, prepared) ${numbers(jobCount)}
     select '01BENCH' || (1000000 + n), 'A' || (1 + n % ${accountCount}), 'image-to-3d', 'PENDING', 0,
       'https://shop.example/cup.jpg', 0, 1 from numbers`,
];

/**
 * @param {System} system
 * @param {string} location of its database
 * @param {number} workers
 * @param {string} code folder of the built server sources
 * @returns {Promise<Figures>} jobs per second of all workers; median of a claim and CPU time per job, in ms
 */
async function measure(system, location, workers, code) {
  const children = Array.from({ length: workers }, () => fork(workerFile, [system, location, code, String(seconds)]));
  /**
   * @param {import('node:child_process').ChildProcess} child
   * @returns {Promise<import('./bench-worker.mjs').Result>}
   */
  const nextMessage = async (child) => {
    const [message] = await Promise.race([once(child, 'message'), once(child, 'exit')]);
    if (typeof message !== 'object') throw new Failed(`A worker of ${system} exited with ${message}`);
    return message;
  };
  try {
    await Promise.all(children.map(nextMessage));
    const results = Promise.all(children.map(nextMessage));
    for (const child of children) child.send('start');
    const all = await results;
    if (all.some(({ empty }) => empty)) throw new Failed(`${jobCount} jobs are too few for ${workers} on ${system}`);
    const jobs = sum(all.map((one) => one.jobs));
    if (jobs === 0) throw new Failed(`${workers} workers of ${system} finished no job in ${seconds} s`);
    const claimMs = median(all.flatMap(({ claimsMs }) => claimsMs));
    return { rate: jobs / seconds, claimMs, cpuMs: sum(all.map((one) => one.cpuMs)) / jobs };
  } finally {
    await Promise.all(
      children.map((child) => {
        if (child.exitCode !== null) return undefined;
        const exited = once(child, 'exit');
        child.disconnect();
        return exited;
      }),
    );
  }
}

/** @param {number} value */
const whole = (value) => Math.round(value).toLocaleString('en');

/** @param {readonly Measured[]} measured */
function print(measured) {
  console.log(
    `${whole(jobCount)} waiting jobs. Each worker is a process and claims one job after another. gen3d finishes a job with\n` +
      '`succeed` as a runner does (fenced by its lease, with its charge); graphile-worker completes it without any work.\n' +
      'PostgreSQL 18 and SQLite both sync each commit to the disk. The last two columns: the speed of gen3d on\n' +
      'PostgreSQL relative to graphile-worker. "CPU per job" is that of the worker process. Medians of\n' +
      `${rounds} rounds of ${seconds} s each.\n`,
  );
  row(
    'workers',
    ...Object.values(systems).flatMap((name) => [name, 'one claim', 'CPU per job']),
    'claims',
    'whole jobs',
  );
  row(...Array(12).fill('--:'));
  for (const { workers, figures } of measured) {
    const cells = systemNames.flatMap((system) => {
      const of = (/** @type {keyof Figures} */ name) => median(figures[system].map((round) => round[name]));
      return [`${whole(of('rate'))} /s`, `${of('claimMs').toFixed(2)} ms`, `${of('cpuMs').toFixed(2)} ms`];
    });
    const { postgres, graphile } = figures;
    const claims = median(postgres.map(({ claimMs }, round) => graphile[round].claimMs / claimMs));
    const jobs = median(postgres.map(({ rate }, round) => rate / graphile[round].rate));
    row(workers, ...cells, claims.toFixed(2), jobs.toFixed(2));
  }
}

/** @param {Record<string, LongQueueFigures>} measured by database */
function printLong(measured) {
  console.log(
    '\n1,000,000 waiting jobs, 1,000 of each of 1,000 accounts. "Later": after 5,000 jobs were finished without a vacuum.\n' +
      '"New account": the number of the claim that gets the only job of an account that has just submitted it.\n',
  );
  row('database', 'claim p50', 'p99', 'later p50', 'p99', 'create p50', 'p99', 'new account');
  row('---', ...Array(7).fill('--:'));
  for (const [name, { claims, later, creates, position }] of Object.entries(measured)) {
    const cells = [claims, later, creates].flatMap((values) => [quantile(values, 0.5), quantile(values, 0.99)]);
    row(name, ...cells.map((ms) => `${ms.toFixed(2)} ms`), `claim ${position}`);
  }
}
