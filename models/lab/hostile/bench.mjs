// The jobs of one account while other accounts and anonymous callers attack the server. Everything is on loopback.
//
//   node models/lab/bench.mjs hostile                                 five minutes of attack, on SQLite
//   node models/lab/bench.mjs hostile --minutes 2 --database postgres
//   node models/lab/bench.mjs hostile --plays 15                  instead, each authenticated request at 50/s for 15 s
//   node models/lab/bench.mjs hostile --plays 15 --sync-ms 10       with a disk that takes 10 ms more per sync
//   node models/lab/bench.mjs hostile --lines 100000              instead, as many different request lines, and then the metrics
//
// A, which is four accounts, submits 200 URLs of hosts that never respond, B 300 photos, C 20 images of 100 megapixels, D,
// four accounts again, jobs whose events go to names that cannot be resolved and to hosts that never respond.
// callers.mjs lists the other callers. E submits one photo every 30 s and is measured. Exits with 1 when a figure exceeds its limit.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { quantile, row, sum } from '../../../scripts/bench/figures.mjs';
import { nameOf, peakMemory, processTree, proportionalMemory } from '../../../scripts/bench/process-memory.mjs';
import { slowDisk } from '../../../scripts/bench/slow-disk.mjs';
import { buildSources } from '../../../scripts/bench/sources.mjs';
import { Failed } from '../../../scripts/processes.mjs';
import { demoPhotos, requireFrom } from '../../../scripts/repository.mjs';
import { startThrowawayServer } from '../../../scripts/throwaway-server.mjs';
import { largeImages } from './large-images.mjs';
import { playPermitted, withLatency } from './permitted-requests.mjs';
import { checkRecords } from './records.mjs';
import { limits as lineLimits, playRequestLines } from './request-lines.mjs';
import { call, portOf, serveImages } from './requests.mjs';
import { seededJobs, seedJobs } from './searches.mjs';
import { silentNameServer } from './silent-name-server.mjs';

/** @type {any} */
const { sql } = requireFrom('server')('kysely');

const accountNames = ['A1', 'A2', 'A3', 'A4', 'B', 'C', 'D1', 'D2', 'D3', 'D4', 'E'];
/** Accounts with events that go to a receiver that responds. */
const withReceiver = ['B', 'E'];
const withoutEndpoint = ['A1', 'A2', 'A3', 'A4', 'C'];

/** Finished and charged jobs of each member that reads. */
const memberJobs = 50_000;

const idleJobs = 4;
const submitEveryMs = 30_000;
const pollEveryMs = 100;
const sampleEveryMs = 500;
/** Time after the attack in which the last job of E may still finish. */
const lastJobMs = 60_000;

const limits = {
  slowdown: 2.5,
  readMs: 100,
  apiMegabytes: 400,
  deliverySeconds: 10,
  shutdownSeconds: 45,
  growthMegabytes: 10,
};

/** @typedef {{ id: string, key: string }} Account */
/** @typedef {{ ca: string, cert: string, key: string }} PrivateCa */

/**
 * Prints the section `Hostile callers` of docs/benchmarks.md.
 *
 * @param {import('../../../scripts/processes.mjs').AtEnd} atEnd
 */
export async function benchHostile(atEnd) {
  const { values } = parseArgs({
    args: process.argv.slice(3),
    options: {
      minutes: { type: 'string', default: '5' },
      database: { type: 'string', default: 'sqlite' },
      plays: { type: 'string' },
      only: { type: 'string' },
      'sync-ms': { type: 'string', default: '0' },
      lines: { type: 'string' },
    },
  });
  const minutes = Number(values.minutes);
  if (!(minutes > 0)) throw new Failed('--minutes must be a number above 0');
  if (!['sqlite', 'postgres'].includes(values.database)) throw new Failed('--database must be sqlite or postgres');
  if (values.lines !== undefined) return benchLines(atEnd, Number(values.lines));
  if (values.plays !== undefined) {
    const [seconds, syncMs] = [Number(values.plays), Number(values['sync-ms'])];
    return benchPlays(atEnd, values.database, {
      seconds,
      syncMs,
      only: values.only === undefined ? undefined : new RegExp(values.only),
    });
  }
  await largeImages();

  const { server, accounts, receiver, names, openRecords } = await startAll(atEnd, values.database);
  const photos = await serveImages({ 'photo.jpg': demoPhotos()[0] });
  const customer = new Customer(server.url, accounts.E.key, photos.urlOf('photo.jpg'));
  const memory = sampleMemory(server.pid);

  const idle = [];
  process.stderr.write('Measuring the idle server\n');
  for (let index = 0; index < idleJobs; index++) {
    const seconds = await customer.makeModel(300);
    if (seconds === undefined) throw new Failed(`A job did not finish on the idle server.\n${server.log()}`);
    // The first job also loads the networks.
    if (index > 0) idle.push(seconds);
  }
  const idleReads = customer.takeReads();
  const bytesBefore = await databaseBytes(await openRecords(), server.dataDir);

  process.stderr.write(`Attacking it for ${minutes} minutes\n`);
  const stopCallers = await startCallers(server.url, accounts);
  const attackEndsAt = performance.now() + minutes * 60_000;
  const submitted = Math.max(1, Math.floor((minutes * 60_000) / submitEveryMs));
  const attacked = await Promise.all(
    Array.from({ length: submitted }, async (_, index) => {
      await sleep(5_000 + index * submitEveryMs);
      return customer.makeModel((attackEndsAt + lastJobMs - performance.now()) / 1_000);
    }),
  );
  const reads = customer.takeReads();
  const { accepted, counts, cpuSeconds } = await stopCallers();
  customer.close();
  const peaks = memory.stop();
  const shutdownStart = performance.now();
  await server.close(2 * limits.shutdownSeconds * 1_000);
  const shutdownSeconds = (performance.now() - shutdownStart) / 1_000;

  const db = await openRecords();
  const records = await checkRecords(db, {
    accounts: accountNames.map((name) => ({
      id: accounts[name].id,
      accepted: name === 'E' ? customer.accepted : accepted[name],
      hasEndpoint: !withoutEndpoint.includes(name),
    })),
    finalEvents: receiver.finalEvents,
    dataDir: server.dataDir,
  });
  const deliverySeconds = await deliveriesOf(db, customer.accepted, receiver.finalEventAt);
  const grown = (await databaseBytes(db, server.dataDir)) - bytesBefore;

  console.log(
    `${minutes} minutes of attack, ${values.database}. Names that cannot be resolved: ` +
      `${names ? 'their name server never responds' : 'under .invalid'}.\n`,
  );
  row('', 'measured', 'limit', '');
  row('---', '--:', '--:', '---');
  const idleMedian = quantile(idle, 0.5);
  // A job that did not finish took longer than any other.
  const attackedSeconds = attacked.map(orNever);
  const median = quantile(attackedSeconds, 0.5);
  figure('E, idle server: creation to completion, median', seconds(idleMedian));
  figure('E, idle server: longest', seconds(quantile(idle, 1)));
  figure('E, under attack: median', seconds(median));
  figure('E, under attack: longest', seconds(quantile(attackedSeconds, 1)));
  limited('E, under attack: median, of that on the idle server', median / idleMedian, limits.slowdown, (ratio) =>
    ratio.toFixed(2),
  );
  limited("E's jobs that did not finish", attacked.filter((one) => one === undefined).length, 0);
  limited("E's requests that were refused or broken off", reads.refused, 0);
  limited(
    "E's final events: end of the job to delivery, longest",
    quantile(deliverySeconds.map(orNever), 1),
    limits.deliverySeconds,
    seconds,
  );
  figure('`GET /v1/jobs/{id}`, idle server: p99', milliseconds(quantile(idleReads.ms, 0.99)));
  limited('`GET /v1/jobs/{id}`, under attack: p99', quantile(reads.ms, 0.99), limits.readMs, milliseconds);
  figure('`GET /v1/jobs/{id}`, under attack: longest', milliseconds(quantile(reads.ms, 1)));
  if (peaks.api) limited('API process: peak resident memory', peaks.api, limits.apiMegabytes, megabytes);
  if (peaks.total) {
    const parts = [...peaks.parts].map(([name, size]) => `${name} ${size}`).join(', ');
    figure(`all processes together: peak of the proportional memory (${parts})`, megabytes(peaks.total));
  }
  const perAccount = grown / 1e6 / (accountNames.length - 1);
  limited(
    'growth of the database per hostile account',
    perAccount,
    limits.growthMegabytes,
    (size) => `${size.toFixed(1)} MB`,
  );
  limited('shutdown', shutdownSeconds, limits.shutdownSeconds, seconds);
  for (const { name, value, max } of records.figures) limited(name, value, max);

  const statuses = Object.entries(records.statuses).map(([status, count]) => `${count} ${status}`);
  console.log(`\nJobs at the end: ${statuses.join(', ')}. Reads of E under attack: ${reads.ms.length}.`);
  console.log(`Responses to the hostile callers, which used ${cpuSeconds.toFixed(0)} s of CPU time:\n`);
  for (const [caller, outcomes] of Object.entries(counts)) {
    const list = Object.entries(outcomes).map(([outcome, count]) => `${outcome} ${count}`);
    console.log(`- ${caller}: ${list.join(', ')}`);
  }
}

/**
 * Prints how fast a new client is served while members send each authenticated request 50 times a second.
 *
 * @param {import('../../../scripts/processes.mjs').AtEnd} atEnd
 * @param {string} databaseKind
 * @param {{ seconds: number, syncMs: number, only: RegExp | undefined }} settings `seconds` of each play,
 *   `syncMs` by which a sync of the database takes longer, and `only`, which matches the requests to play
 */
async function benchPlays(atEnd, databaseKind, { seconds, syncMs, only }) {
  if (!(seconds > 0)) throw new Failed('--plays must be a number of seconds above 0');
  if (!(syncMs >= 0)) throw new Failed('--sync-ms must be a number of milliseconds');
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
  const folder = mkdtempSync(join(tmpdir(), 'gen3d-bench-hostile-'));
  // PostgreSQL may run as another user.
  chmodSync(folder, 0o755);
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  const slow = syncMs > 0 ? slowDisk(folder, syncMs) : {};
  const cluster = databaseKind === 'postgres' ? await startCluster({ durable: true, env: slow }) : undefined;
  if (cluster) atEnd(() => void cluster.remove());
  const database = cluster ? await withLatency(cluster.url) : 'sqlite';
  const flags = ['--bundle', 'inflate', '--compat', '--database', database];
  const server = await startThrowawayServer(atEnd, flags, { env: cluster ? {} : slow });
  const admin = await openAdmin(
    edges,
    loadConfig({ dataDir: server.dataDir, database: cluster?.url ?? database }, {}, {}),
  );
  const members = [];
  for (const name of ['first member', 'second member', 'new client']) {
    const { account_id: id } = await admin.createAccount(name, 1_000);
    const { api_key: key } = await admin.createKey(id);
    // Nothing makes its model, so the streams of its events stay open.
    const { body } = await call('POST', `${server.url}/v1/jobs`, key, { type: 'reserved', input: {} });
    members.push({ id, key, job: body.job_id, finished: seededJobs(id, memberJobs) });
  }
  await admin.close();
  const db = openDatabase(cluster?.url ?? join(server.dataDir, 'gen3d.sqlite'), { withoutTimeout: true });
  for (const { id } of members.slice(0, 2))
    await seedJobs(db, id, memberJobs, "'photo ' || n || '.jpg'", { charged: true });
  await db.destroy();
  const disk = syncMs > 0 ? `, ${syncMs} ms more per sync` : '';
  console.log(`Each authenticated request for ${seconds} s, ${databaseKind}${cluster ? ', 1 ms away' : ''}${disk}.\n`);
  row('request, members', 'new client: longest', 'refused or reset', 'members: statuses', '');
  row('---', '--:', '--:', '---', '---');
  for await (const play of playPermitted(server.url, members.slice(0, 2), members[2], { seconds, only })) {
    const isMet = play.longestMs <= 1_000 && play.refused.length === 0;
    if (!isMet) process.exitCode = 1;
    const statuses = Object.entries(play.statuses).map(([status, count]) => `${status} ${count}`);
    const refused = `${play.refused.length} of ${play.requests}${play.refused.length > 0 ? `: ${[...new Set(play.refused)].join(', ')}` : ''}`;
    row(
      `${play.request}, ${play.members}`,
      milliseconds(play.longestMs),
      refused,
      statuses.join(', '),
      isMet ? 'PASS' : '**FAIL**',
    );
  }
}

/**
 * Prints how long the metrics take after anybody has sent many different request lines.
 *
 * @param {import('../../../scripts/processes.mjs').AtEnd} atEnd
 * @param {number} count
 */
async function benchLines(atEnd, count) {
  const { perSecond, seriesBefore, series, bytes, longestMs, megabytes: peak } = await playRequestLines(atEnd, count);
  console.log(`${count} different request lines without a key, ${Math.round(perSecond)} a second.\n`);
  row('', 'measured', 'limit', '');
  row('---', '--:', '--:', '---');
  limited('`GET /metrics` afterwards, longest of five', longestMs, lineLimits.metricsMs, milliseconds);
  limited('series of requests', series, lineLimits.series);
  limited('new ones after the first 10,000 lines', series - seriesBefore, 0);
  figure('size of the metrics', `${(bytes / 1_000).toFixed(0)} kB`);
  if (peak) figure('API process: peak resident memory', megabytes(peak));
}

/**
 * Starts the server with its accounts, and the receiver of the webhooks of E and B.
 *
 * @param {import('../../../scripts/processes.mjs').AtEnd} atEnd
 * @param {string} databaseKind
 */
async function startAll(atEnd, databaseKind) {
  const folder = mkdtempSync(join(tmpdir(), 'gen3d-bench-hostile-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  const { open } = await buildSources(atEnd, 'server', {
    admin: 'src/admin.ts',
    config: 'src/config.ts',
    composition: 'src/composition.ts',
    open: 'test/open-database.ts',
    privateCa: 'test/faults/private-ca.ts',
    cluster: 'test/postgres/cluster.ts',
  });
  const [{ openAdmin }, { loadConfig }, { edges }, { openDatabase }, { makePrivateCa }, { startCluster }] =
    await Promise.all(['admin', 'config', 'composition', 'open', 'privateCa', 'cluster'].map(open));
  const cluster = databaseKind === 'postgres' ? await startCluster({ durable: true }) : undefined;
  if (cluster) atEnd(() => void cluster.remove());
  const ca = await makePrivateCa();
  const caFile = join(folder, 'ca.pem');
  writeFileSync(caFile, ca.ca);
  const receiver = await openReceiver(ca);
  const names = await silentNameServer(folder);

  const database = cluster?.url ?? 'sqlite';
  const server = await startThrowawayServer(atEnd, ['--allow-private-network', '--database', database], {
    env: { GEN3D_RATES: '{"bench":0.002}', GEN3D_INSTANCE: 'bench', NODE_EXTRA_CA_CERTS: caFile },
    ...(names && { enter: names.enter }),
  });
  const admin = await openAdmin(edges, loadConfig({ dataDir: server.dataDir, database }, {}, {}));
  /** @type {Record<string, Account>} */
  const accounts = {};
  for (const name of accountNames) {
    const { account_id: id } = await admin.createAccount(name, 1_000);
    accounts[name] = { id, key: (await admin.createKey(id)).api_key };
  }
  await admin.close();
  for (const name of withReceiver) {
    const { status } = await call('PUT', `${server.url}/v1/webhook-endpoint`, accounts[name].key, {
      url: receiver.url,
    });
    if (status !== 200) throw new Failed(`The server refused the webhook endpoint of ${name} with ${status}`);
  }
  const openRecords = () => openDatabase(cluster?.url ?? join(server.dataDir, 'gen3d.sqlite'));
  return { server, accounts, receiver, names, openRecords };
}

/**
 * Receives webhooks and records the final events: their ids by job, and the time of the first one of each job.
 *
 * @param {PrivateCa} ca
 */
async function openReceiver({ cert, key }) {
  /** @type {Map<string, Set<string>>} */
  const finalEvents = new Map();
  /** @type {Map<string, number>} */
  const finalEventAt = new Map();
  const server = createServer({ cert, key }, async (request, response) => {
    let text = '';
    for await (const part of request.setEncoding('utf8')) text += part;
    const { event_id: id, task_id: job, status } = JSON.parse(text);
    if (status === 'SUCCEEDED' || status === 'FAILED') {
      finalEvents.set(job, (finalEvents.get(job) ?? new Set()).add(id));
      if (!finalEventAt.has(job)) finalEventAt.set(job, Date.now());
    }
    response.end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.unref();
  return { url: `https://127.0.0.1:${portOf(server)}/hook`, finalEvents, finalEventAt };
}

/** E: submits photos and reads one of its open jobs every 100 ms, also while earlier reads are pending. */
class Customer {
  /** @type {string[]} */
  accepted = [];
  /** @type {Map<string, (status: string) => void>} */
  #open = new Map();
  #reads = noReads();
  #next = 0;
  #timer = setInterval(() => void this.#read(), pollEveryMs);
  #jobsUrl;
  #key;
  #body;

  /**
   * @param {string} url
   * @param {string} key
   * @param {string} photoUrl
   */
  constructor(url, key, photoUrl) {
    this.#jobsUrl = `${url}/v1/jobs`;
    this.#key = key;
    this.#body = { type: 'image-to-3d', input: { image_urls: [photoUrl] } };
  }

  /**
   * @param {number} timeoutSeconds
   * @returns seconds from the first attempt to create the job until a read says that it succeeded; undefined on timeout
   */
  async makeModel(timeoutSeconds) {
    const startedAt = performance.now();
    const expired = sleep(timeoutSeconds * 1_000, undefined, { ref: false });
    const id = await Promise.race([this.#create(), expired]);
    if (id === undefined) return undefined;
    const ended = new Promise((resolve) => this.#open.set(id, resolve));
    const status = await Promise.race([ended, expired]);
    return status === 'SUCCEEDED' ? (performance.now() - startedAt) / 1_000 : undefined;
  }

  /** The reads since the last call. */
  takeReads() {
    const reads = this.#reads;
    this.#reads = noReads();
    return reads;
  }

  close() {
    clearInterval(this.#timer);
  }

  /** @returns {Promise<string>} the job's id */
  async #create() {
    const body = { ...this.#body, idempotency_key: `${this.accepted.length}-${Math.random()}` };
    for (;;) {
      const response = await this.#call('POST', this.#jobsUrl, body);
      if (response?.status === 202) {
        this.accepted.push(response.body.job_id);
        return response.body.job_id;
      }
      await sleep(response?.retryAfterMs ?? 1_000);
    }
  }

  async #read() {
    const ids = [...this.#open.keys()];
    const id = ids[this.#next++ % ids.length];
    if (id === undefined) return;
    const response = await this.#call('GET', `${this.#jobsUrl}/${id}`);
    if (response?.status !== 200) return;
    this.#reads.ms.push(response.ms);
    if (response.body.finished_at === null) return;
    this.#open.get(id)?.(response.body.status);
    this.#open.delete(id);
  }

  /**
   * Counts refusals. Returns undefined when the connection failed.
   *
   * @param {string} method
   * @param {string} url
   * @param {unknown} [body]
   */
  async #call(method, url, body) {
    const response = await call(method, url, this.#key, body).catch(() => undefined);
    if (!response || response.status >= 400) this.#reads.refused++;
    return response;
  }
}

/** @returns {{ ms: number[], refused: number }} */
const noReads = () => ({ ms: [], refused: 0 });

/**
 * Starts the hostile callers. Resolves with a function that stops them and returns their report.
 *
 * @param {string} url
 * @param {Readonly<Record<string, Account>>} accounts
 */
async function startCallers(url, accounts) {
  // In a session of its own, the unit by which Linux shares the CPU, and with a lower priority than the server: callers on
  // other machines would take none of the server's CPU time.
  const child = fork(join(import.meta.dirname, 'callers.mjs'), { detached: true });
  const priority = `/proc/${child.pid}/autogroup`;
  if (existsSync(priority)) writeFileSync(priority, '5');
  /** @returns {Promise<any>} */
  const nextMessage = async () => {
    const [message] = await Promise.race([once(child, 'message'), once(child, 'exit')]);
    if (typeof message === 'number') throw new Failed(`The hostile callers exited with ${message}`);
    return message;
  };
  const { E: _, ...hostile } = Object.fromEntries(Object.entries(accounts).map(([name, { key }]) => [name, key]));
  child.send({ url, keys: hostile });
  await nextMessage();
  /** @returns {Promise<import('./callers.mjs').Report>} */
  return () => {
    child.send('stop');
    return nextMessage();
  };
}

/**
 * The size of the database in bytes. Closes the connection.
 *
 * @param {any} db
 * @param {string} dataDir
 */
async function databaseBytes(db, dataDir) {
  const files = ['gen3d.sqlite', 'gen3d.sqlite-wal'].map((name) => join(dataDir, name)).filter(existsSync);
  const query = sql`select pg_database_size(current_database()) as bytes`;
  const bytes =
    files.length > 0 ? sum(files.map((file) => statSync(file).size)) : (await query.execute(db)).rows[0].bytes;
  await db.destroy();
  return Number(bytes);
}

/**
 * Samples the memory of the process and of its descendants until `stop` returns the peaks in MB.
 *
 * @param {number} pid
 */
function sampleMemory(pid) {
  /** @type {{ total: number, parts: Map<string, number> }} */
  let peaks = { total: 0, parts: new Map() };
  const timer = setInterval(() => {
    const parts = new Map();
    for (const one of processTree(pid)) {
      const name = one === pid ? 'API' : nameOf(one);
      parts.set(name, (parts.get(name) ?? 0) + (proportionalMemory(one) ?? 0));
    }
    const total = sum([...parts.values()]);
    if (total > peaks.total) peaks = { total, parts };
  }, sampleEveryMs);
  return {
    stop() {
      clearInterval(timer);
      return { ...peaks, api: peakMemory(pid) };
    },
  };
}

/**
 * @param {any} db
 * @param {readonly string[]} ids
 * @param {ReadonlyMap<string, number>} arrivedAt
 * @returns {Promise<Array<number | undefined>>} seconds from the end of each finished job until its event arrived;
 *   undefined if it did not arrive
 */
async function deliveriesOf(db, ids, arrivedAt) {
  /** @type {Array<{ id: string, finished_at: unknown }>} */
  const jobs = await db.selectFrom('jobs').select(['id', 'finished_at']).where('id', 'in', ids).execute();
  return jobs
    .filter(({ finished_at: finishedAt }) => finishedAt !== null)
    .map(({ id, finished_at: finishedAt }) => {
      const at = arrivedAt.get(id);
      return at === undefined ? undefined : (at - Number(finishedAt)) / 1_000;
    });
}

/** @param {number | undefined} value */
const orNever = (value) => value ?? Number.POSITIVE_INFINITY;
/** @param {number} value */
const seconds = (value) => (Number.isFinite(value) ? `${value.toFixed(1)} s` : 'not within the run');
/** @param {number} value */
const milliseconds = (value) => `${value.toFixed(1)} ms`;
/** @param {number} value */
const megabytes = (value) => `${value} MB`;

/** @type {(name: string, text: string) => void} */
const figure = (name, text) => row(name, text, '', '');

/** @type {(name: string, value: number, limit: number, format?: (value: number) => string) => void} */
function limited(name, value, limit, format = String) {
  // A figure that was not measured is NaN, and has failed too.
  const isMet = value <= limit;
  if (!isMet) process.exitCode = 1;
  row(name, format(value), format(limit), isMet ? 'PASS' : '**FAIL**');
}
