// The speed of the API with a million jobs. A bare Express route and SQLite's own commits take turns with it: other
// programs on the machine slow all of them equally, so the ratios hold where the figures alone would not.
import { randomBytes } from 'node:crypto';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import autocannon from 'autocannon';
import { Failed, start, stop } from '../processes.mjs';
import { envWithoutSettings, listeningUrl } from '../throwaway-server.mjs';
import { checkouts } from './against.mjs';
import { Sqlite, seededUlid } from './databases.mjs';
import { median, quantile, row } from './figures.mjs';

const jobCount = 1_000_000;
const rounds = 5;
const seconds = 2;
const connections = 16;
const apiKey = 'gen3d_bench_0123456789abcdef';
const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
const body = { type: 'image-to-3d', input: { image_urls: ['https://shop.example/photos/cup.jpg'] } };
const baseTime = Date.now() - 80 * 24 * 3_600_000;

/** @typedef {{ rate: number, cpu?: number | undefined, p50: number, p99: number }} Figures times in ms; `cpu` per request */
/** @typedef {{ url: string, pid: number, close: () => Promise<void> }} Listener */
/** @typedef {Listener & { database: string, requests: Awaited<ReturnType<typeof requestsOf>> }} Server */
/** @typedef {Record<string, (round: number) => Figures | Promise<Figures>>} Bases */

/** What each request is compared with. */
const express = 'bare Express 5: `GET` of the same JSON';
const commits = 'better-sqlite3: commits of one row each';

/** @type {Record<string, { base: string, target?: string, run: (server: Server) => Promise<Figures> }>} */
const benches = {
  '`GET /v1/jobs/{id}`': {
    base: express,
    target: 'at least 0.9 of bare Express',
    run: (server) => load(server, server.requests.read),
  },
  '`GET /v1/jobs`, pages of 20': {
    base: express,
    target: 'p99 under 20 ms',
    run: (server) => load(server, server.requests.list),
  },
  '`GET /v1/jobs`, pages of 100': {
    base: express,
    target: 'p99 under 20 ms',
    run: (server) => load(server, server.requests.longList),
  },
  '`POST /v1/jobs`, image by URL': {
    base: commits,
    target: 'at least 0.33 of the commits',
    run: (server) => create(server, body),
  },
  '`POST /v1/jobs`, image of 16 kB inline': { base: commits, run: (server) => create(server, inlineImage) },
};

/**
 * Prints the section `API` of docs/benchmarks.md:
 *
 *   npm run bench api
 *   npm run bench api -- --against COMMIT --against COMMIT   compares with other commits, which take turns with this one
 *
 * @param {import('../processes.mjs').AtEnd} atEnd
 */
export async function benchApi(atEnd) {
  const { values } = parseArgs({
    args: process.argv.slice(3),
    options: { against: { type: 'string', multiple: true, default: [] } },
  });
  const versions = [...values.against, 'now'];
  // On the disk that holds temporary files. If that is in memory, commits are free, for SQLite alone and for the API.
  const folder = mkdtempSync(join(tmpdir(), 'gen3d-bench-api-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));

  const bare = await startBareExpress(folder);
  /** @type {Bases} */
  const bases = {
    [express]: () => load(bare, [{ path: '/bare/1' }]),
    [commits]: (round) => commit(join(folder, `commits-${round}.db`)),
  };
  /** @type {Server[]} */
  const servers = [];
  for (const checkout of checkouts(...values.against)) {
    servers.push(await startSeeded(checkout, join(folder, String(servers.length))));
  }
  /** @type {Map<string, Figures[]>} by the label of a row */
  const measured = new Map();
  /** @type {(label: string, figures: Figures) => void} */
  const add = (label, figures) => void measured.set(label, [...(measured.get(label) ?? []), figures]);
  for (let round = 0; round <= rounds; round++) {
    // Round 0 warms up all processes.
    if (round === 1) measured.clear();
    for (const [name, run] of Object.entries(bases)) add(name, await run(round));
    for (const [name, { run }] of Object.entries(benches)) {
      for (const [index, server] of servers.entries()) add(label(name, versions[index]), await run(server));
    }
  }
  for (const server of servers) await server.close();
  await bare.close();
  print(versions, Object.keys(bases), (name) => measured.get(name) ?? []);
}

/** @param {string} name @param {string} version */
const label = (name, version) => (version === 'now' ? name : `${name}, ${version}`);

/**
 * @param {readonly string[]} versions
 * @param {readonly string[]} bases
 * @param {(label: string) => readonly Figures[]} figuresOf by round
 */
function print(versions, bases, figuresOf) {
  console.log(
    `${jobCount.toLocaleString('en')} jobs of one account, ${connections} connections without pauses, no runner, no\n` +
      `rate limit, WAL with synchronous=FULL; medians of ${rounds} rounds of ${seconds} s each, after one to warm up.\n`,
  );
  /** @type {(name: string, base: string | undefined) => string} median of the ratios within each round */
  const ratio = (name, base) =>
    base ? median(figuresOf(name).map(({ rate }, round) => rate / figuresOf(base)[round].rate)).toFixed(2) : '';
  const others = versions.slice(0, -1);
  row(
    '',
    'per second',
    'p50',
    'p99',
    'CPU each',
    'of bare Express',
    'of the commits',
    ...others.map((v) => `of ${v}`),
    'target',
  );
  row('---', ...Array(6 + others.length).fill('--:'), '---');
  /** @type {(name: string, version: string, bench?: { base: string, target?: string }) => void} */
  const line = (name, version, { base, target = '' } = { base: '' }) => {
    const own = label(name, version);
    const figures = figuresOf(own);
    const cpu = median(figures.flatMap((each) => each.cpu ?? []));
    row(
      own,
      Math.round(median(figures.map(({ rate }) => rate))).toLocaleString('en'),
      `${median(figures.map(({ p50 }) => p50)).toFixed(1)} ms`,
      `${median(figures.map(({ p99 }) => p99)).toFixed(1)} ms`,
      Number.isNaN(cpu) ? '' : `${cpu.toFixed(2)} ms`,
      base === express ? ratio(own, base) : '',
      base === commits ? ratio(own, base) : '',
      ...others.map((other) => (base && version === 'now' ? ratio(own, label(name, other)) : '')),
      version === 'now' ? target : '',
    );
  };
  for (const name of bases) line(name, 'now');
  for (const [name, bench] of Object.entries(benches)) for (const version of versions) line(name, version, bench);
}

/**
 * Starts the server of a checkout with a full table.
 *
 * @param {string} checkout
 * @param {string} folder
 * @returns {Promise<Server>}
 */
async function startSeeded(checkout, folder) {
  mkdirSync(folder);
  const database = join(folder, 'gen3d.sqlite');
  await (await startServer(checkout, folder)).close(); // creates the tables and the account
  seed(database);
  const server = await startServer(checkout, folder);
  return { ...server, database, requests: await requestsOf(server.url) };
}

/**
 * `gen3d serve` without runners. Logs to a file, as a service does.
 *
 * @param {string} checkout
 * @param {string} folder
 */
function startServer(checkout, folder) {
  const env = {
    ...envWithoutSettings(),
    GEN3D_DATA_DIR: folder,
    GEN3D_CONFIG_DIR: join(folder, 'config'),
    GEN3D_BOOTSTRAP_API_KEY: apiKey,
    GEN3D_RATE_LIMIT: 'off',
    GEN3D_MAX_OPEN_JOBS: '10000000',
    GEN3D_LOG_FORMAT: 'json',
  };
  return startListener(
    [join(checkout, 'packages/cli/bin/gen3d.js'), 'serve', '--port', '0', '--workers', '0'],
    join(folder, 'server.log'),
    env,
  );
}

/** @param {string} folder */
const startBareExpress = (folder) =>
  startListener([join(import.meta.dirname, 'bare-express.mjs')], join(folder, 'bare.log'), process.env);

/**
 * @param {readonly string[]} args
 * @param {string} logFile
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<Listener>}
 */
async function startListener(args, logFile, env) {
  const log = openSync(logFile, 'a');
  const program = start(process.execPath, args, { env, stdio: ['ignore', 'pipe', log] });
  closeSync(log);
  const url = await listeningUrl(program, () => readFileSync(logFile, 'utf8'));
  return { url, pid: /** @type {number} */ (program.child.pid), close: () => stop(program) };
}

/**
 * Fills the table as years of use would: nearly all jobs have succeeded, one in 20 has failed, a few were canceled.
 *
 * @param {string} path
 */
function seed(path) {
  const db = new Sqlite(path);
  const account = db.prepare('select id from accounts where sandbox = 0').pluck().get();
  const insert = db.prepare(
    `insert into jobs (id, account_id, type, idempotency_key, status, progress, error_code, error_message, model_key,
       thumbnail_key, created_at, finished_at, attempt)
     values (@id, @account, 'image-to-3d', @key, @status, @progress, @code, @message, @model, @thumbnail, @created,
       @finished, 1)`,
  );
  const fill = db.transaction((/** @type {number} */ from, /** @type {number} */ to) => {
    for (let n = from; n < to; n++) {
      const id = seededId(n);
      const status = n % 100_000 === 50_000 ? 'CANCELED' : n % 20 === 0 ? 'FAILED' : 'SUCCEEDED';
      const succeeded = status === 'SUCCEEDED';
      insert.run({
        id,
        account,
        key: `sdk-${id}`,
        status,
        progress: succeeded ? 100 : 30,
        code: status === 'FAILED' ? 'no_foreground' : null,
        message: status === 'FAILED' ? 'The photo shows no object that stands out from its background' : null,
        model: succeeded ? `${id}/model.glb` : null,
        thumbnail: succeeded ? `${id}/thumbnail.jpg` : null,
        created: baseTime + n,
        finished: baseTime + n + 9_000,
      });
    }
  });
  const batch = 50_000;
  for (let from = 0; from < jobCount; from += batch) fill(from, Math.min(jobCount, from + batch));
  db.pragma('wal_checkpoint(truncate)');
  db.close();
}

/**
 * A ULID whose time is `n` ms after the first.
 *
 * @param {number} n
 */
const seededId = (n) => seededUlid(baseTime + n, n);

/**
 * Jobs from the whole table, and pages from its beginning to near its end.
 *
 * @param {string} url
 */
async function requestsOf(url) {
  const read = Array.from({ length: 200 }, (_, index) => ({
    path: `/v1/jobs/${seededId(Math.floor(((index + 0.5) * jobCount) / 200))}`,
  }));
  const cursors = [''];
  // The few canceled jobs are spread evenly, so their cursors lead to all depths of the list.
  for (;;) {
    const response = await fetch(`${url}/v1/jobs?status=CANCELED&limit=1${cursors.at(-1)}`, { headers });
    const { next_cursor } = /** @type {{ next_cursor: string | null }} */ (await response.json());
    if (!next_cursor) break;
    cursors.push(`&cursor=${next_cursor}`);
  }
  const statuses = ['', '&status=SUCCEEDED', '&status=FAILED'];
  /** @param {number} limit */
  const list = (limit) =>
    cursors.flatMap((cursor) => statuses.map((status) => ({ path: `/v1/jobs?limit=${limit}${status}${cursor}` })));
  return { read, list: list(20), longList: list(100) };
}

/** A request with 16 kB that begin as a JPEG does. */
const inlineImage = (() => {
  const bytes = [0xff, 0xd8, 0xff, 0xe0, ...Array.from({ length: 16_000 }, (_, n) => (n * 7919) % 251)];
  return { ...body, input: { image_urls: [`data:image/jpeg;base64,${Buffer.from(bytes).toString('base64')}`] } };
})();

/**
 * Creates jobs in an account without unfinished ones.
 *
 * @param {Server} server
 * @param {typeof body} json
 */
function create(server, json) {
  const db = new Sqlite(server.database);
  db.exec("update jobs set status = 'CANCELED', finished_at = created_at where finished_at is null");
  db.close();
  return load(server, [post(json)]);
}

/**
 * Creates a job as the SDK does, with a new idempotency key.
 *
 * @param {typeof body} json
 * @returns {import('autocannon').Request}
 */
const post = (json) => ({
  method: 'POST',
  path: '/v1/jobs',
  setupRequest: (request) => ({
    ...request,
    body: JSON.stringify({ ...json, idempotency_key: `sdk-${randomBytes(16).toString('hex')}` }),
  }),
});

/**
 * @param {Listener} listener
 * @param {import('autocannon').Request[]} requests
 * @returns {Promise<Figures>}
 */
async function load({ url, pid }, requests) {
  /** @type {number[]} */
  const latencies = [];
  let refused = 0;
  const cpuBefore = cpuMs(pid);
  /** @type {import('autocannon').Result} */
  const { errors, duration } = await new Promise((resolve, reject) => {
    const settle = (/** @type {Error | null} */ error, /** @type {import('autocannon').Result} */ result) =>
      error ? reject(error) : resolve(result);
    autocannon({ url, connections, duration: seconds, headers, requests }, settle).on(
      'response',
      (_client, status, _bytes, ms) => {
        latencies.push(ms);
        if (status >= 300) refused++;
      },
    );
  });
  if (refused || errors) throw new Failed(`${refused} refusals and ${errors} errors from ${url}${requests[0].path}`);
  const cpuAfter = cpuMs(pid);
  const cpu = cpuBefore === undefined || cpuAfter === undefined ? undefined : (cpuAfter - cpuBefore) / latencies.length;
  return { rate: latencies.length / duration, cpu, ...quantiles(latencies) };
}

/**
 * Processor time of a process, in steps of 10 ms. Undefined on systems other than Linux.
 *
 * @param {number} pid
 */
function cpuMs(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return 10 * (Number(fields[11]) + Number(fields[12]));
  } catch {
    return undefined;
  }
}

/**
 * Commits one row per transaction, one transaction after another: the maximum of one connection.
 *
 * @param {string} path
 * @returns {Figures}
 */
function commit(path) {
  const db = new Sqlite(path);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.exec('create table jobs (id text primary key, body text not null)');
  const insert = db.prepare('insert into jobs values (?, ?)');
  const text = JSON.stringify(body);
  const latencies = [];
  const startedAt = performance.now();
  let now = startedAt;
  for (let n = 0; now - startedAt < seconds * 1_000; n++) {
    insert.run(seededId(n), text);
    const before = now;
    now = performance.now();
    latencies.push(now - before);
  }
  db.close();
  return { rate: latencies.length / ((now - startedAt) / 1_000), ...quantiles(latencies) };
}

/** @param {readonly number[]} latencies */
const quantiles = (latencies) => ({ p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) });
