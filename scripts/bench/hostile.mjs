// How one account fares while other accounts and anonymous callers attack the server. Everything is on loopback.
//
//   npm run bench hostile                                 five minutes of attack, on SQLite
//   npm run bench hostile -- --minutes 2 --database postgres
//
// A submits 200 URLs of hosts that never respond, B 300 photos, C 20 images of 100 megapixels, D jobs whose events go to
// dead names and to hosts that never respond. hostile/callers.mjs lists what anonymous callers do. E submits one photo
// every 30 s, and is the one that is measured. Exits with 1 when a figure exceeds its limit.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Failed } from '../processes.mjs';
import { demoPhotos } from '../repository.mjs';
import { startThrowawayServer } from '../throwaway-server.mjs';
import { quantile, row } from './figures.mjs';
import { largeImages } from './hostile/large-images.mjs';
import { checkRecords } from './hostile/records.mjs';
import { call, servePhotos } from './hostile/requests.mjs';
import { silentNameServer } from './hostile/silent-name-server.mjs';
import { nameOf, peakMemory, processTree, proportionalMemory } from './process-memory.mjs';
import { buildServerSources } from './server-sources.mjs';

const options = {
  minutes: { type: 'string', default: '5' },
  database: { type: 'string', default: 'sqlite' },
};
const callersFile = fileURLToPath(new URL('hostile/callers.mjs', import.meta.url));
const accountNames = ['A', 'B', 'C', 'D1', 'D2', 'D3', 'D4', 'E'];
/** Those whose events go to a receiver that responds. */
const withReceiver = ['B', 'E'];
const withoutEndpoint = ['A', 'C'];

const idleJobs = 4;
const submitEveryMs = 30_000;
const pollEveryMs = 100;
const sampleEveryMs = 500;
/** How much longer than the attack E waits for its last job. */
const lastJobMs = 60_000;

const limits = { slowdown: 2.5, readMs: 100, apiMegabytes: 400, deliverySeconds: 10, shutdownSeconds: 45 };

/** Prints the section `Hostile callers` of docs/benchmarks.md. */
export async function benchHostile(atEnd) {
  const { values } = parseArgs({ args: process.argv.slice(3), options });
  const minutes = Number(values.minutes);
  if (!(minutes > 0)) throw new Failed('--minutes must be a number above 0');
  if (!['sqlite', 'postgres'].includes(values.database)) throw new Failed('--database must be sqlite or postgres');
  await largeImages();

  const { server, accounts, receiver, names, openRecords } = await startAll(atEnd, values.database);
  const photos = await servePhotos({ 'photo.jpg': demoPhotos()[0] });
  const customer = new Customer(server.url, accounts.E.key, photos.urlOf('photo.jpg'));
  const memory = sampleMemory(server.pid);

  const idle = [];
  process.stderr.write('Measuring the idle server\n');
  for (let index = 0; index < idleJobs; index++) {
    const seconds = await customer.makeModel(300);
    if (seconds === undefined) throw new Failed(`A job did not finish on the idle server.\n${server.log()}`);
    // The first one also loads the networks.
    if (index > 0) idle.push(seconds);
  }
  const idleReads = customer.takeReads();

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
  const closing = performance.now();
  await server.close(2 * limits.shutdownSeconds * 1_000);
  const shutdownSeconds = (performance.now() - closing) / 1_000;

  const db = await openRecords();
  const records = await checkRecords(db, {
    accounts: accountNames.map((name) => ({
      id: accounts[name].id,
      accepted: name === 'E' ? customer.accepted : accepted[name],
      endpoint: !withoutEndpoint.includes(name),
    })),
    finalEvents: receiver.finalEvents,
    dataDir: server.dataDir,
  });
  const deliverySeconds = await deliveriesOf(db, customer.accepted, receiver.finalEventAt);
  await db.destroy();

  console.log(
    `${minutes} minutes of attack, ${values.database}. The dead names: ` +
      `${names ? 'their name server never responds' : 'under .invalid'}.\n`,
  );
  row('', 'measured', 'limit', '');
  row('---', '--:', '--:', '---');
  const idleMedian = quantile(idle, 0.5);
  // A job that did not finish took longer than any other.
  const median = quantile(attacked.map(orNever), 0.5);
  figure('E, idle server: creation to completion, median', seconds(idleMedian));
  figure('E, idle server: longest', seconds(quantile(idle, 1)));
  figure('E, under attack: median', seconds(median));
  figure('E, under attack: longest', seconds(quantile(attacked.map(orNever), 1)));
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
  limited('shutdown', shutdownSeconds, limits.shutdownSeconds, seconds);
  for (const [name, value, limit] of records.rows) limited(name, value, limit);

  const statuses = Object.entries(records.statuses).map(([status, count]) => `${count} ${status}`);
  console.log(`\nJobs at the end: ${statuses.join(', ')}. Reads of E under attack: ${reads.ms.length}.`);
  console.log(`What the callers got, in ${cpuSeconds.toFixed(0)} s of CPU time of their own:\n`);
  for (const [caller, outcomes] of Object.entries(counts)) {
    console.log(
      `- ${caller}: ${Object.entries(outcomes)
        .map(([outcome, count]) => `${outcome} ${count}`)
        .join(', ')}`,
    );
  }
}

/** The server with its accounts, and the receiver of E's and B's webhooks. */
async function startAll(atEnd, databaseKind) {
  const folder = mkdtempSync(join(tmpdir(), 'gen3d-bench-hostile-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  const { open } = await buildServerSources(atEnd, {
    admin: 'src/admin.ts',
    config: 'src/config.ts',
    open: 'src/data/db/open.ts',
    privateCa: 'test/faults/private-ca.ts',
    cluster: 'test/postgres/cluster.ts',
  });
  const [{ openAdmin }, { loadConfig }, { openDatabase }, { makePrivateCa }, { startCluster }] = await Promise.all(
    ['admin', 'config', 'open', 'privateCa', 'cluster'].map(open),
  );
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
    enter: names?.enter,
  });
  const admin = await openAdmin(loadConfig({ dataDir: server.dataDir, database }, {}, {}));
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

/** Receives webhooks, and notes those that end a job: the ids of the events by job, and when the first one came. */
async function openReceiver({ ca, cert, key }) {
  const finalEvents = new Map();
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
  return { ca, url: `https://127.0.0.1:${server.address().port}/hook`, finalEvents, finalEventAt };
}

/** E: submits photos, and reads one of its open jobs every 100 ms, whether or not the server has answered the read before. */
class Customer {
  accepted = [];
  #open = new Map();
  #reads = { ms: [], refused: 0 };
  #next = 0;
  #timer = setInterval(() => void this.#read(), pollEveryMs);

  constructor(url, key, photoUrl) {
    this.jobs = `${url}/v1/jobs`;
    this.key = key;
    this.body = { type: 'image-to-3d', input: { image_urls: [photoUrl] } };
  }

  /** Seconds from the first attempt to create the job until it is seen to have succeeded; undefined after `limitSeconds`. */
  async makeModel(limitSeconds) {
    const startedAt = performance.now();
    const expired = sleep(limitSeconds * 1_000, undefined, { ref: false });
    const id = await Promise.race([this.#create(), expired]);
    if (id === undefined) return undefined;
    const ended = new Promise((resolve) => this.#open.set(id, resolve));
    const status = await Promise.race([ended, expired]);
    return status === 'SUCCEEDED' ? (performance.now() - startedAt) / 1_000 : undefined;
  }

  /** The reads since the last time. */
  takeReads() {
    const reads = this.#reads;
    this.#reads = { ms: [], refused: 0 };
    return reads;
  }

  close() {
    clearInterval(this.#timer);
  }

  async #create() {
    const body = { ...this.body, idempotency_key: `${this.accepted.length}-${Math.random()}` };
    for (;;) {
      const response = await this.#call('POST', this.jobs, body);
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
    const response = await this.#call('GET', `${this.jobs}/${id}`);
    if (response?.status !== 200) return;
    this.#reads.ms.push(response.ms);
    if (response.body.finished_at === null) return;
    this.#open.get(id)?.(response.body.status);
    this.#open.delete(id);
  }

  /** The response, or undefined where the connection failed. Counts what is refused. */
  async #call(method, url, body) {
    const response = await call(method, url, this.key, body).catch(() => undefined);
    if (!response || response.status >= 400) this.#reads.refused++;
    return response;
  }
}

/** Starts the hostile callers. Resolves with what stops them and returns their report. */
async function startCallers(url, accounts) {
  const child = fork(callersFile);
  const keys = Object.fromEntries(Object.entries(accounts).map(([name, { key }]) => [name, key]));
  const { E: _, ...hostile } = keys;
  const reported = async () => {
    const [message] = await Promise.race([once(child, 'message'), once(child, 'exit')]);
    if (typeof message === 'number') throw new Failed(`The hostile callers ended with ${message}`);
    return message;
  };
  child.send({ url, keys: hostile });
  await reported();
  return () => {
    child.send('stop');
    return reported();
  };
}

/** Samples the memory of the process and those that it started, until `stop` returns the peaks in MB. */
function sampleMemory(pid) {
  const peaks = { total: 0, parts: new Map() };
  const timer = setInterval(() => {
    const parts = new Map();
    for (const one of processTree(pid)) {
      const name = one === pid ? 'API' : nameOf(one);
      parts.set(name, (parts.get(name) ?? 0) + (proportionalMemory(one) ?? 0));
    }
    const total = [...parts.values()].reduce((sum, size) => sum + size, 0);
    if (total > peaks.total) Object.assign(peaks, { total, parts });
  }, sampleEveryMs);
  return {
    stop() {
      clearInterval(timer);
      return { ...peaks, api: peakMemory(pid) };
    },
  };
}

/** Seconds from the end of each job until its event arrived; undefined where it did not, though the job ended. */
async function deliveriesOf(db, ids, arrivedAt) {
  const jobs = await db.selectFrom('jobs').select(['id', 'finished_at']).where('id', 'in', ids).execute();
  return jobs
    .filter(({ finished_at: finishedAt }) => finishedAt !== null)
    .map(({ id, finished_at: finishedAt }) =>
      arrivedAt.has(id) ? (arrivedAt.get(id) - Number(finishedAt)) / 1_000 : undefined,
    );
}

const orNever = (value) => value ?? Number.POSITIVE_INFINITY;
const seconds = (value) => (Number.isFinite(value) ? `${value.toFixed(1)} s` : 'not within the run');
const milliseconds = (value) => `${value.toFixed(1)} ms`;
const megabytes = (value) => `${value} MB`;

const figure = (name, text) => row(name, text, '', '');

function limited(name, value, limit, format = String) {
  // A figure that was not measured (NaN) has failed too.
  const isMet = value <= limit;
  if (!isMet) process.exitCode = 1;
  row(name, format(value), format(limit), isMet ? 'PASS' : '**FAIL**');
}
