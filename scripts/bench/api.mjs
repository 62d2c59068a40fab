// How quickly the API answers over a million jobs, beside a bare Express route and SQLite's own commits in the same
// run: other programs on the machine slow all of them alike, so the ratios hold where the figures alone would not.
import { randomBytes } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import autocannon from 'autocannon';
import { Failed, start, stop } from '../processes.mjs';
import { gen3dBin, requireFrom } from '../repository.mjs';
import { median, quantile, row } from './figures.mjs';

const Database = requireFrom('server')('better-sqlite3');

const jobCount = 1_000_000;
const rounds = 3;
const seconds = 3;
const connections = 10;
const apiKey = 'gen3d_bench_0123456789abcdef';
const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
const body = { type: 'image-to-3d', input: { image_urls: ['https://shop.example/photos/cup.jpg'] } };
const baseTime = Date.now() - 80 * 24 * 3_600_000;

/** Prints the section `API` of docs/benchmarks.md. */
export async function benchApi(atEnd) {
  // A folder in the system's place for such: where that is in memory, commits cost nothing, there and here.
  const folder = mkdtempSync(join(tmpdir(), 'gen3d-bench-api-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));

  await (await startServer(folder)).close(); // makes the tables and the account
  seed(join(folder, 'gen3d.sqlite'));
  const bare = await startBareExpress(folder);
  const server = await startServer(folder);
  const paths = await pathsOf(server.url);

  const benches = {
    express: () => load(bare, [{ path: '/bare/1' }]),
    read: () => load(server, paths.read),
    list: () => load(server, paths.list),
    longList: () => load(server, paths.longList),
    expressPost: () => load(bare, [post()]),
    commits: (round) => commit(join(folder, `commits-${round}.db`)),
    create: () => load(server, [post()]),
    photo: () => load(server, [post(inlinePhoto())]),
  };
  const measured = Object.fromEntries(Object.keys(benches).map((name) => [name, []]));
  // The first round is for the compilers of all three processes.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, bench] of Object.entries(benches)) {
      const figures = await bench(round);
      if (round > 0) measured[name].push(figures);
    }
  }
  await server.close();
  await bare.close();
  print(measured);
}

const names = {
  express: 'bare Express 5: `GET` of the same JSON',
  read: '`GET /v1/jobs/{id}`',
  list: '`GET /v1/jobs`, pages of 20',
  longList: '`GET /v1/jobs`, pages of 100',
  expressPost: 'bare Express 5: `POST` with `express.json()`',
  commits: 'better-sqlite3: commits of one row each',
  create: '`POST /v1/jobs`, photo by URL',
  photo: '`POST /v1/jobs`, photo of 100 kB inline',
};

function print(measured) {
  const of = (name, figure) => median(measured[name].map((figures) => figures[figure]));
  const ratio = (name, base) => median(measured[name].map(({ rate }, round) => rate / measured[base][round].rate));
  console.log(
    `${jobCount.toLocaleString('en')} jobs of one account, ${connections} connections that never pause, no runner, no\n` +
      `rate limit, WAL with synchronous=FULL; medians of ${rounds} rounds of ${seconds} s each, after one to warm up.\n`,
  );
  row('', 'per second', 'p50', 'p99', 'CPU each', 'of bare Express', 'of the commits', 'wanted');
  row('---', '--:', '--:', '--:', '--:', '--:', '--:', '---');
  const line = (name, against, wanted = '') => {
    const cpu = of(name, 'cpu');
    row(
      names[name],
      Math.round(of(name, 'rate')).toLocaleString('en'),
      `${of(name, 'p50').toFixed(1)} ms`,
      `${of(name, 'p99').toFixed(1)} ms`,
      cpu === undefined ? '' : `${cpu.toFixed(2)} ms`,
      against?.startsWith('express') ? ratio(name, against).toFixed(2) : '',
      against === 'commits' ? ratio(name, against).toFixed(2) : '',
      wanted,
    );
  };
  line('express');
  line('read', 'express', 'at least 0.5 of bare Express');
  line('list', 'express', 'p99 under 20 ms');
  line('longList', 'express', 'p99 under 20 ms');
  line('expressPost');
  line('commits');
  line('create', 'commits', 'at least 0.33 of the commits');
  line('photo', 'commits');
}

/** `gen3d serve` without runners; its log goes to a file, as a service's does. */
async function startServer(folder) {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('GEN3D_'));
  const env = {
    ...Object.fromEntries(own),
    GEN3D_DATA_DIR: folder,
    GEN3D_CONFIG_DIR: join(folder, 'config'),
    GEN3D_BOOTSTRAP_API_KEY: apiKey,
    GEN3D_RATE_LIMIT: 'off',
    GEN3D_MAX_OPEN_JOBS: '10000000',
    GEN3D_LOG_FORMAT: 'json',
  };
  return startListener([gen3dBin, 'serve', '--port', '0', '--workers', '0'], {
    env,
    logFile: join(folder, 'server.log'),
  });
}

const startBareExpress = (folder) =>
  startListener([fileURLToPath(new URL('bare-express.mjs', import.meta.url))], {
    logFile: join(folder, 'bare.log'),
  });

async function startListener(args, { logFile, ...options }) {
  const log = openSync(logFile, 'a');
  const program = start(process.execPath, args, { ...options, stdio: ['ignore', 'pipe', log] });
  closeSync(log);
  const url = await new Promise((resolve, reject) => {
    program.child.stdout.on('data', () => {
      const found = /listening on (http:\S+)/.exec(program.output.stdout);
      if (found) resolve(found[1]);
    });
    const failed = () => reject(new Failed(`${args[0]} did not start.\n${readFileSync(logFile, 'utf8').slice(-2000)}`));
    program.ended.then(failed, failed);
  });
  return { url, pid: program.child.pid, close: () => stop(program) };
}

/** Fills the table as years of use would: nearly all jobs finished, a few of each other kind among them. */
function seed(path) {
  const db = new Database(path);
  const { id: account } = db.prepare('select id from accounts where sandbox = 0').get();
  const insert = db.prepare(
    `insert into jobs (id, account_id, type, idempotency_key, status, progress, error_code, error_message, model_key,
       thumbnail_key, created_at, finished_at, attempt)
     values (@id, @account, 'image-to-3d', @key, @status, @progress, @code, @message, @model, @thumbnail, @created,
       @finished, 1)`,
  );
  const fill = db.transaction((from, to) => {
    for (let n = from; n < to; n += 1) {
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

/** A ULID whose time rises with `n`. */
function seededId(n) {
  const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
  let time = baseTime + n;
  let text = '';
  for (let digit = 0; digit < 10; digit += 1) {
    text = alphabet[time % 32] + text;
    time = Math.floor(time / 32);
  }
  return text + n.toString(10).padStart(16, '0');
}

/** Jobs from all over the table, and pages at its beginning, in its middle and near its end. */
async function pathsOf(url) {
  const read = Array.from({ length: 200 }, (_, index) => ({
    path: `/v1/jobs/${seededId(Math.floor(((index + 0.5) * jobCount) / 200))}`,
  }));
  const cursors = [''];
  // The few canceled jobs are spread evenly, so the cursors after them lead into every depth of the list.
  for (;;) {
    const response = await fetch(`${url}/v1/jobs?status=CANCELED&limit=1${cursors.at(-1)}`, { headers });
    const { next_cursor } = await response.json();
    if (!next_cursor) break;
    cursors.push(`&cursor=${next_cursor}`);
  }
  const statuses = ['', '&status=SUCCEEDED', '&status=FAILED'];
  const list = (limit) =>
    cursors.flatMap((cursor) => statuses.map((status) => ({ path: `/v1/jobs?limit=${limit}${status}${cursor}` })));
  return { read, list: list(20), longList: list(100) };
}

let photo;
function inlinePhoto() {
  photo ??= Buffer.concat([
    Buffer.of(0xff, 0xd8, 0xff, 0xe0),
    Buffer.from(Array.from({ length: 100_000 }, (_, n) => (n * 7919) % 251)),
  ]);
  return { ...body, input: { image_urls: [`data:image/jpeg;base64,${photo.toString('base64')}`] } };
}

/** A create as the SDK sends it: with an idempotency key of its own. */
const post = (json = body) => ({
  method: 'POST',
  path: '/v1/jobs',
  setupRequest: (request) => {
    return { ...request, body: JSON.stringify({ ...json, idempotency_key: `sdk-${randomBytes(16).toString('hex')}` }) };
  },
});

async function load({ url, pid }, requests) {
  const latencies = [];
  let refused = 0;
  const cpuBefore = cpuMs(pid);
  const run = autocannon({ url, connections, duration: seconds, headers, requests });
  run.on('response', (_client, status, _bytes, ms) => {
    latencies.push(ms);
    if (status >= 300) refused += 1;
  });
  const { errors, duration } = await run;
  if (refused || errors) throw new Failed(`${refused} refusals and ${errors} errors from ${url}${requests[0].path}`);
  const cpu = cpuBefore === undefined ? undefined : (cpuMs(pid) - cpuBefore) / latencies.length;
  return { rate: latencies.length / duration, cpu, ...quantiles(latencies) };
}

/** Processor time that a process has had. On Linux, in its ticks of 10 ms; elsewhere not known. */
function cpuMs(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return 10 * (Number(fields[11]) + Number(fields[12]));
  } catch {
    return undefined;
  }
}

/** One row a transaction, one transaction after another: all that one connection can do. */
function commit(path) {
  const db = new Database(path);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.exec('create table jobs (id text primary key, body text not null)');
  const insert = db.prepare('insert into jobs values (?, ?)');
  const text = JSON.stringify(body);
  const latencies = [];
  const startedAt = performance.now();
  let now = startedAt;
  for (let n = 0; now - startedAt < seconds * 1_000; n += 1) {
    insert.run(seededId(n), text);
    const then = now;
    now = performance.now();
    latencies.push(now - then);
  }
  db.close();
  return { rate: latencies.length / ((now - startedAt) / 1_000), ...quantiles(latencies) };
}

const quantiles = (latencies) => ({ p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) });
