// The hostile callers of `node models/lab/bench.mjs hostile`, in a separate process. It starts when it receives its settings and
// reports when it receives the message `stop`.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { demoPhotos } from '../../../scripts/repository.mjs';
import { largeImages, noise } from './large-images.mjs';
import { dataUri, portOf, retryAfterMs, serveImages } from './requests.mjs';

/**
 * @typedef {object} Report
 * @property {Record<string, string[]>} accepted the ids of the accepted jobs, by account
 * @property {Record<string, Record<string, number>>} counts of the outcomes, by caller
 * @property {number} cpuSeconds
 */

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;
const testKey = 'gen3d_test_public';
const imageUrl = 'https://images.invalid/cup.jpg';

/** @type {[{ url: string, keys: Record<string, string> }]} */
// @ts-expect-error: `once` does not relate its result to the event
const [{ url, keys }] = await once(process, 'message');
const { hostname, port } = new URL(url);
const stopped = new AbortController();
/** @type {Report['accepted']} */
const accepted = Object.fromEntries(Object.keys(keys).map((account) => [account, []]));
const withSilentHosts = Object.keys(keys).filter((account) => account.startsWith('A'));
/** Each account has its own endpoint. */
const withDeadEndpoints = Object.keys(keys).filter((account) => account.startsWith('D'));
/** @type {Array<Promise<void>>} */
const submitters = [];
/** @type {Report['counts']} */
const counts = {};
/** @type {(caller: string, outcome: string | number) => void} */
const count = (caller, outcome) => {
  counts[caller] ??= {};
  counts[caller][outcome] = (counts[caller][outcome] ?? 0) + 1;
};

process.on('disconnect', () => process.exit());
process.once('message', async () => {
  stopped.abort();
  // Jobs with pending responses count as accepted too.
  await Promise.race([Promise.all(submitters), sleep(10_000)]);
  const cpuSeconds = (process.cpuUsage().user + process.cpuUsage().system) / 1e6;
  process.send?.({ accepted, counts, cpuSeconds }, () => process.exit());
});

const smallImages = Object.fromEntries(demoPhotos().map((path) => [basename(path), path]));
const images = await serveImages({ ...(await largeImages()), ...smallImages });
const smallNames = Object.keys(smallImages);
const largeNames = Object.keys(images.bytes).filter((name) => !(name in smallImages));
const silentHosts = await Promise.all(Array.from({ length: 200 }, (_, index) => silentHost(index)));

// Together the submitters stay well below the 50 requests per second of the whole API.
for (const [index, account] of withSilentHosts.entries()) {
  const hosts = silentHosts.filter((_, host) => host % withSilentHosts.length === index);
  submit({ account, imageUrls: hosts.map((host) => `${host}/photo.jpg`), perSecond: 5 / withSilentHosts.length });
}
submit({
  account: 'B',
  imageUrls: Array.from({ length: 300 }, (_, index) => {
    const name = smallNames[index % smallNames.length];
    return index % 2 ? dataUri(name, images.bytes[name]) : images.urlOf(name);
  }),
  perSecond: 5,
});
submit({
  account: 'C',
  imageUrls: Array.from({ length: 20 }, (_, index) => images.urlOf(largeNames[index % largeNames.length])),
  perSecond: 2,
});
await setDeadEndpoints();
for (const account of withDeadEndpoints) {
  // Jobs of a reserved type fail immediately, so their load is their events.
  const imageUrls = Array.from({ length: 50 }, (_, index) => `https://images.invalid/${index}.jpg`);
  submit({ account, imageUrls, perSecond: 1, type: 'reserved' });
}
const attacks = [
  unfinishedGzip,
  unfinishedPlain,
  silent,
  slowHeaders,
  unreadResponses,
  largeFields,
  smallJobs,
  unfinishedSignIns,
  searches,
  unreadPhotos,
];
for (const attack of attacks) void attack();
submitters.push(createAndCancel());
process.send?.('started');

/**
 * A host that accepts connections and never responds. On Linux each has its own address.
 *
 * @param {number} index
 * @returns its URL
 */
async function silentHost(index) {
  const server = createServer((socket) => socket.on('error', () => {}).resume());
  const address = process.platform === 'linux' ? `127.0.1.${index + 1}` : '127.0.0.1';
  server.listen(0, address);
  await once(server, 'listening');
  return `http://${address}:${portOf(server)}`;
}

/** Sets webhooks on names that cannot be resolved, and on hosts that never complete a TLS handshake. */
async function setDeadEndpoints() {
  for (const [index, account] of withDeadEndpoints.entries()) {
    const silentUrl = silentHosts[index].replace('http:', 'https:');
    const target = index % 2 ? `${silentUrl}/hook` : `https://dead-${index}.invalid/hook`;
    await retry(account, () =>
      fetch(`${url}/v1/webhook-endpoint`, {
        method: 'PUT',
        headers: headersOf(keys[account]),
        body: JSON.stringify({ url: target }),
      }),
    );
  }
}

/** @typedef {{ account: string, imageUrls: readonly string[], perSecond: number, type?: string }} Submission */

/** @param {Submission} submission */
function submit(submission) {
  submitters.push(submitAll(submission));
}

/**
 * Submits a job for each image. Retries temporary refusals. Resolves when all have been submitted, or after the pending
 * request once everything stops.
 *
 * @param {Submission} submission
 */
async function submitAll({ account, imageUrls, perSecond, type = 'image-to-3d' }) {
  const headers = headersOf(keys[account]);
  for (const [index, image] of imageUrls.entries()) {
    const body = JSON.stringify({ type, input: { image_urls: [image] }, idempotency_key: `${index}` });
    const next = sleep(1_000 / perSecond);
    const response = await retry(account, () => fetch(`${url}/v1/jobs`, { method: 'POST', headers, body }));
    if (response?.status === 202) accepted[account].push(JSON.parse(response.text).job_id);
    await next;
    if (stopped.signal.aborted) return;
  }
}

/** @param {string} key */
function headersOf(key) {
  return { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
}

/**
 * Repeats a request until it gets a lasting response. Returns undefined once everything stops.
 *
 * @param {string} caller
 * @param {() => Promise<Response>} send
 */
async function retry(caller, send) {
  while (!stopped.signal.aborted) {
    try {
      const response = await send();
      const text = await response.text();
      count(caller, response.status);
      if (response.status !== 429 && response.status < 500) return { status: response.status, text };
      await sleep(retryAfterMs(response.headers.get('retry-after')));
    } catch (error) {
      count(caller, reasonOf(error));
      await sleep(1_000);
    }
  }
  return undefined;
}

/**
 * The system's code of a failed fetch, such as ECONNREFUSED, or its message.
 *
 * @param {any} error
 * @returns {string}
 */
function reasonOf(error) {
  return error.cause?.code ?? error.message;
}

/**
 * Keeps `amount` connections open. Replaces those that the server closes, at most `perSecond`.
 *
 * @param {string} caller
 * @param {number} amount
 * @param {number} perSecond
 * @param {(socket: import('node:net').Socket) => void} use writes to a new connection
 * @param {string} [localAddress]
 */
async function keepOpen(caller, amount, perSecond, use, localAddress) {
  const open = new Set();
  while (!stopped.signal.aborted) {
    if (open.size < amount) {
      const socket = connect({ port: Number(port), host: hostname, localAddress });
      open.add(socket);
      count(caller, 'connections');
      socket.on('error', () => {});
      socket.on('close', () => open.delete(socket));
      socket.once('connect', () => use(socket));
    }
    await sleep(1_000 / perSecond);
  }
}

/**
 * Counts the status of the first response.
 *
 * @param {string} caller
 * @param {import('node:net').Socket} socket
 */
function countStatus(caller, socket) {
  socket.once('data', (data) => count(caller, /^HTTP\/1\.1 (\d+)/.exec(data.toString('latin1'))?.[1] ?? 'unknown'));
}

/**
 * The head of a request that creates a job with the public test key.
 *
 * @param {Readonly<Record<string, string | number>>} fields
 */
function headOf(fields) {
  const all = { host: `${hostname}:${port}`, ...headersOf(testKey), ...fields };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST /v1/jobs HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** Sends 8 kB that inflate to 8 MiB, and never the last byte of the request. */
function unfinishedGzip() {
  const body = gzipSync(Buffer.alloc(8 * mebibyte - kibibyte, ' '));
  return keepOpen('unfinished gzip', 60, 10, (socket) => {
    countStatus('unfinished gzip', socket);
    socket.write(headOf({ 'content-encoding': 'gzip', 'content-length': body.length + 1 }));
    socket.write(body);
  });
}

/** The same without gzip, just below the limit of the sandbox and just below the limit of all accounts. */
async function unfinishedPlain() {
  const sizes = [250 * kibibyte, 250 * kibibyte, 250 * kibibyte, 7 * mebibyte];
  let sent = 0;
  await keepOpen('unfinished plain', 80, 10, (socket) => {
    countStatus('unfinished plain', socket);
    const body = Buffer.alloc(sizes[sent++ % sizes.length], ' ');
    socket.write(headOf({ 'content-length': body.length + 1 }));
    socket.write(body);
  });
}

/** Opens connections and sends nothing. */
function silent() {
  return keepOpen('half-open', 150, 30, (socket) => socket.resume());
}

/** Sends the head of a request at one byte per second. */
function slowHeaders() {
  return keepOpen('slow headers', 50, 10, (socket) => {
    countStatus('slow headers', socket);
    const bytes = [...headOf({ 'x-padding': 'x'.repeat(500) })];
    const timer = setInterval(() => {
      const next = bytes.shift();
      if (next === undefined) clearInterval(timer);
      else socket.write(next);
    }, 1_000);
    socket.on('close', () => clearInterval(timer));
  });
}

/** Requests the sample model many times on one connection and reads no response. */
async function unreadResponses() {
  const caller = 'unread responses';
  const body = JSON.stringify({ type: 'image-to-3d', input: { image_urls: [imageUrl] } });
  const headers = headersOf(testKey);
  const created = await retry(caller, () => fetch(`${url}/v1/jobs`, { method: 'POST', headers, body }));
  if (!created) return;
  const { job_id: id } = JSON.parse(created.text);
  const task = await retry(caller, () => fetch(`${url}/v1/jobs/${id}`, { headers }));
  if (!task) return;
  const { pathname } = new URL(JSON.parse(task.text).model_urls.glb);
  const request = `GET ${pathname} HTTP/1.1\r\nhost: ${hostname}:${port}\r\n\r\n`;
  await keepOpen(caller, 50, 10, (socket) => {
    socket.pause();
    socket.write(request.repeat(50));
  });
}

/** Requests a large photo of C on many connections and reads no response. */
async function unreadPhotos() {
  const caller = 'unread photos';
  const headers = headersOf(keys.C);
  const body = JSON.stringify({ type: 'image-to-3d', input: { image_urls: [dataUri('noise.jpg', await noise())] } });
  const created = await retry(caller, () => fetch(`${url}/v1/jobs`, { method: 'POST', headers, body }));
  if (!created) return;
  const { job_id: id } = JSON.parse(created.text);
  accepted.C.push(id);
  // The server keeps the photo of a canceled job.
  await retry(caller, () => fetch(`${url}/gen3d/jobs/${id}/cancel`, { method: 'POST', headers }));
  const session = await fetch(`${url}/dashboard/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
    body: JSON.stringify({ api_key: keys.C }),
  });
  const cookie = session.headers.get('set-cookie')?.split(';')[0];
  const lines = [
    `GET /dashboard/api/job-details/${id}/photo HTTP/1.1`,
    `host: ${hostname}:${port}`,
    `cookie: ${cookie}`,
  ];
  await keepOpen(caller, 50, 10, (socket) => {
    countStatus(caller, socket);
    socket.once('data', () => socket.pause());
    socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  });
}

/** Sends long values in fields that a careless server would store, or repeat in an error message. */
async function largeFields() {
  const long = 'x'.repeat(200 * kibibyte);
  const bodies = [
    { type: long, input: { image_urls: [imageUrl] } },
    { type: 'x'.repeat(5 * mebibyte), input: { image_urls: [imageUrl] } },
    { type: 'image-to-3d', input: { image_urls: [`${long}:cup.jpg`] } },
    { type: 'image-to-3d', input: { image_urls: [`${imageUrl}?${long}`] } },
  ].map((body) => JSON.stringify(body));
  for (let index = 0; !stopped.signal.aborted; index++) {
    const next = sleep(250);
    await postOnce('large fields', bodies[index % bodies.length]);
    await next;
  }
}

/** Creates more jobs with the test key than the rate limit allows. */
async function smallJobs() {
  const body = JSON.stringify({ type: 'image-to-3d', input: { image_urls: [imageUrl] } });
  while (!stopped.signal.aborted) {
    const next = sleep(1_000 / 60);
    void postOnce('small jobs', body);
    await next;
  }
}

/**
 * Creates a job with the test key and counts the outcome.
 *
 * @param {string} caller
 * @param {string} body
 */
async function postOnce(caller, body) {
  try {
    const response = await fetch(`${url}/v1/jobs`, { method: 'POST', headers: headersOf(testKey), body });
    await response.arrayBuffer();
    count(caller, response.status);
  } catch (error) {
    count(caller, reasonOf(error));
  }
}

/** Keeps 500 requests without a key open, all from one address. A proxy refuses more: they are not the server's work. */
function unfinishedSignIns() {
  const head = `POST /dashboard/api/session HTTP/1.1\r\nhost: ${hostname}:${port}\r\nsec-fetch-site: same-origin\r\n`;
  const use = (/** @type {import('node:net').Socket} */ socket) =>
    void socket.write(`${head}content-length: 9\r\n\r\n{`);
  return keepOpen('unfinished sign-ins', 500, 100, use, process.platform === 'darwin' ? undefined : '127.0.0.2');
}

/** Searches the list of the test key's jobs for what it does not contain. */
async function searches() {
  while (!stopped.signal.aborted) {
    const next = sleep(100);
    void fetch(`${url}/gen3d/jobs?search=zzzz`, { headers: headersOf(testKey) }).then(
      async (response) => {
        await response.arrayBuffer();
        count('searches', response.status);
      },
      (error) => count('searches', reasonOf(error)),
    );
    await next;
  }
}

/** Creates jobs with long URLs and cancels them, with the key of D1. */
async function createAndCancel() {
  const headers = headersOf(keys.D1);
  const longUrl = `${imageUrl}?${'x'.repeat(8_000)}`;
  const body = JSON.stringify({ type: 'image-to-3d', input: { image_urls: [longUrl] } });
  while (!stopped.signal.aborted) {
    const next = sleep(100);
    const created = await retry('create and cancel', () => fetch(`${url}/v1/jobs`, { method: 'POST', headers, body }));
    const { job_id: id } = JSON.parse(created?.text ?? '{}');
    if (id)
      await retry('create and cancel', () => fetch(`${url}/gen3d/jobs/${id}/cancel`, { method: 'POST', headers }));
    if (created?.status === 202) accepted.D1.push(id);
    await next;
  }
}
