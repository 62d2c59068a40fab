// The speed of the API with a million jobs. A bare Express route and SQLite's own commits take turns with it: other
// programs on the machine slow all of them equally, so the ratios hold where the figures alone would not.
import { randomBytes } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import autocannon from 'autocannon';
import { Failed, start, stop } from '../processes.mjs';
import { gen3dBin } from '../repository.mjs';
import { envWithoutSettings, listeningUrl } from '../throwaway-server.mjs';
import { Sqlite, seededUlid } from './databases.mjs';
import { median, quantile, row } from './figures.mjs';

const jobCount = 1_000_000;
const rounds = 3;
const seconds = 3;
const connections = 10;
const apiKey = 'gen3d_bench_0123456789abcdef';
const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
const body = { type: 'image-to-3d', input: { image_urls: ['https://shop.example/photos/cup.jpg'] } };
const baseTime = Date.now() - 80 * 24 * 3_600_000;

/** @typedef {{ rate: number, cpu?: number | undefined, p50: number, p99: number }} Figures times in ms; `cpu` per request */
/** @typedef {{ url: string, pid: number, close: () => Promise<void> }} Listener */

const names = {
  express: 'bare Express 5: `GET` of the same JSON',
  read: '`GET /v1/jobs/{id}`',
  list: '`GET /v1/jobs`, pages of 20',
  longList: '`GET /v1/jobs`, pages of 100',
  expressPost: 'bare Express 5: `POST` with `express.json()`',
  commits: 'better-sqlite3: commits of one row each',
  create: '`POST /v1/jobs`, image by URL',
  inline: '`POST /v1/jobs`, image of 100 kB inline',
};
/** @typedef {keyof typeof names} Name */

/**
 * Prints the section `API` of docs/benchmarks.md.
 *
 * @param {import('../processes.mjs').AtEnd} atEnd
 */
export async function benchApi(atEnd) {
  // On the disk that holds temporary files. If that is in memory, commits are free, for SQLite alone and for the API.
  const folder = mkdtempSync(join(tmpdir(), 'gen3d-bench-api-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));

  await (await startServer(folder)).close(); // creates the tables and the account
  seed(join(folder, 'gen3d.sqlite'));
  const bare = await startBareExpress(folder);
  const server = await startServer(folder);
  const requests = await requestsOf(server.url);

  /** @type {Record<Name, (round: number) => Figures | Promise<Figures>>} */
  const benches = {
    express: () => load(bare, [{ path: '/bare/1' }]),
    read: () => load(server, requests.read),
    list: () => load(server, requests.list),
    longList: () => load(server, requests.longList),
    expressPost: () => load(bare, [post(body)]),
    commits: (round) => commit(join(folder, `commits-${round}.db`)),
    create: () => load(server, [post(body)]),
    inline: () => load(server, [post(inlineImage())]),
  };
  /** @type {Map<Name, Figures[]>} */
  const measured = new Map();
  // Round 0 warms up all three processes.
  for (let round = 0; round <= rounds; round++) {
    for (const name of /** @type {Name[]} */ (Object.keys(benches))) {
      const figures = await benches[name](round);
      if (round > 0) measured.set(name, [...(measured.get(name) ?? []), figures]);
    }
  }
  await server.close();
  await bare.close();
  print((name) => measured.get(name) ?? []);
}

/** @param {(name: Name) => readonly Figures[]} figuresOf by round */
function print(figuresOf) {
  console.log(
    `${jobCount.toLocaleString('en')} jobs of one account, ${connections} connections without pauses, no runner, no\n` +
      `rate limit, WAL with synchronous=FULL; medians of ${rounds} rounds of ${seconds} s each, after one to warm up.\n`,
  );
  row('', 'per second', 'p50', 'p99', 'CPU each', 'of bare Express', 'of the commits', 'target');
  row('---', '--:', '--:', '--:', '--:', '--:', '--:', '---');
  /** @type {(name: Name, base?: Name, target?: string) => void} */
  const line = (name, base, target = '') => {
    const figures = figuresOf(name);
    const ratio = base && median(figures.map(({ rate }, round) => rate / figuresOf(base)[round].rate)).toFixed(2);
    const cpu = median(figures.flatMap((each) => each.cpu ?? []));
    row(
      names[name],
      Math.round(median(figures.map(({ rate }) => rate))).toLocaleString('en'),
      `${median(figures.map(({ p50 }) => p50)).toFixed(1)} ms`,
      `${median(figures.map(({ p99 }) => p99)).toFixed(1)} ms`,
      Number.isNaN(cpu) ? '' : `${cpu.toFixed(2)} ms`,
      (base === 'express' && ratio) || '',
      (base === 'commits' && ratio) || '',
      target,
    );
  };
  line('express');
  line('read', 'express', 'at least 0.5 of bare Express');
  line('list', 'express', 'p99 under 20 ms');
  line('longList', 'express', 'p99 under 20 ms');
  line('expressPost');
  line('commits');
  line('create', 'commits', 'at least 0.33 of the commits');
  line('inline', 'commits');
}

/**
 * `gen3d serve` without runners. Logs to a file, as a service does.
 *
 * @param {string} folder
 */
function startServer(folder) {
  const env = {
    ...envWithoutSettings(),
    GEN3D_DATA_DIR: folder,
    GEN3D_CONFIG_DIR: join(folder, 'config'),
    GEN3D_BOOTSTRAP_API_KEY: apiKey,
    GEN3D_RATE_LIMIT: 'off',
    GEN3D_MAX_OPEN_JOBS: '10000000',
    GEN3D_LOG_FORMAT: 'json',
  };
  return startListener([gen3dBin, 'serve', '--port', '0', '--workers', '0'], join(folder, 'server.log'), env);
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
  db.exec('analyze');
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

/** @type {typeof body | undefined} */
let requestWithImage;
/** A request with 100 kB that begin as a JPEG does. */
function inlineImage() {
  const bytes = [0xff, 0xd8, 0xff, 0xe0, ...Array.from({ length: 100_000 }, (_, n) => (n * 7919) % 251)];
  requestWithImage ??= {
    ...body,
    input: { image_urls: [`data:image/jpeg;base64,${Buffer.from(bytes).toString('base64')}`] },
  };
  return requestWithImage;
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
