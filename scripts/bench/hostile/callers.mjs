// The hostile callers of `npm run bench hostile`, in a separate process: it starts when it gets its settings, and
// reports when it gets the message `stop`.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { demoPhotos } from '../../repository.mjs';
import { largeImages } from './large-images.mjs';
import { dataUri, retryAfterMs, servePhotos } from './requests.mjs';

const mebibyte = 1024 * 1024;
const testKey = 'gen3d_test_public';

const [settings] = await once(process, 'message');
const { url, keys } = settings;
const { hostname, port } = new URL(url);
const stopped = new AbortController();
/** Ids of the jobs that were accepted, by account. */
const accepted = Object.fromEntries(Object.keys(keys).map((account) => [account, []]));
/** Each has its own endpoint. */
const withDeadEndpoints = Object.keys(keys).filter((account) => account.startsWith('D'));
/** Each settles when it has submitted everything, or what it had begun to when everything stopped. */
const submitters = [];
/** Counts of responses, by caller and status. */
const counts = {};
const count = (caller, outcome) => {
  counts[caller] ??= {};
  counts[caller][outcome] = (counts[caller][outcome] ?? 0) + 1;
};

process.on('disconnect', () => process.exit());
process.once('message', async () => {
  stopped.abort();
  // A job whose response is still on its way counts as accepted.
  await Promise.race([Promise.all(submitters), sleep(10_000)]);
  const cpuSeconds = (process.cpuUsage().user + process.cpuUsage().system) / 1e6;
  process.send({ accepted, counts, cpuSeconds }, () => process.exit());
});

const photos = await servePhotos({ ...(await largeImages()), ...Object.fromEntries(demoPhotos().map(entry)) });
const silentHosts = await Promise.all(Array.from({ length: 200 }, (_, index) => silentHost(index)));
const small = demoPhotos().map((path) => entry(path)[0]);

// The submitters together stay well below the 50 requests per second of the whole API.
submit(
  'A',
  silentHosts.map((host) => `${host}/photo.jpg`),
  5,
);
submit(
  'B',
  Array.from({ length: 300 }, (_, index) => {
    const name = small[index % small.length];
    return index % 2 ? dataUri(name, photos.bytes[name]) : photos.urlOf(name);
  }),
  5,
);
const large = Object.keys(photos.bytes).filter((name) => !small.includes(name));
submit(
  'C',
  Array.from({ length: 20 }, (_, index) => photos.urlOf(large[index % large.length])),
  2,
);
await announce();
for (const account of withDeadEndpoints) {
  // Jobs of a reserved type fail at once, so their load is their events.
  const images = Array.from({ length: 50 }, (_, index) => `https://images.invalid/${index}.jpg`);
  submit(account, images, 1, { type: 'reserved' });
}
for (const attack of [unfinishedGzip, unfinishedPlain, silent, slowHeaders, unreadResponses, largeTypes, smallJobs]) {
  attack();
}
process.send('started');

function entry(path) {
  return [path.split(/[/\\]/).at(-1), path];
}

/** A host that accepts connections and never responds. On Linux each has its own address. */
async function silentHost(index) {
  const server = createServer((socket) => socket.on('error', () => {}).resume());
  server.listen(0, process.platform === 'linux' ? `127.0.1.${index + 1}` : '127.0.0.1');
  await once(server, 'listening');
  const { address, port } = server.address();
  return `http://${address}:${port}`;
}

/** Webhooks on names that no name server resolves, and on hosts that never complete a TLS handshake. */
async function announce() {
  for (const [index, account] of withDeadEndpoints.entries()) {
    const tarpit = silentHosts[index].replace('http:', 'https:');
    const target = index % 2 ? `${tarpit}/hook` : `https://dead-${index}.invalid/hook`;
    await retried(account, () =>
      fetch(`${url}/v1/webhook-endpoint`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${keys[account]}`, 'content-type': 'application/json' },
        body: JSON.stringify({ url: target }),
      }),
    );
  }
}

function submit(...job) {
  submitters.push(submitAll(...job));
}

/** Submits one job for each image, `perSecond` of them, and retries what is not accepted at the moment. */
async function submitAll(account, images, perSecond, fields = {}) {
  for (const [index, image] of images.entries()) {
    const body = JSON.stringify({
      type: 'image-to-3d',
      input: { image_urls: [image] },
      idempotency_key: `${index}`,
      ...fields,
    });
    const headers = { authorization: `Bearer ${keys[account]}`, 'content-type': 'application/json' };
    const next = sleep(1_000 / perSecond);
    const response = await retried(account, () => fetch(`${url}/v1/jobs`, { method: 'POST', headers, body }));
    if (response?.status === 202) accepted[account].push(JSON.parse(response.text).job_id);
    await next;
    if (stopped.signal.aborted) return;
  }
}

/** The response, read, or undefined once everything stops. Retries what is temporary. */
async function retried(caller, send) {
  while (!stopped.signal.aborted) {
    try {
      const response = await send();
      const text = await response.text();
      count(caller, response.status);
      if (response.status !== 429 && response.status < 500) return { status: response.status, text };
      await sleep(retryAfterMs(response.headers.get('retry-after')));
    } catch (error) {
      count(caller, error.cause?.code ?? error.message);
      await sleep(1_000);
    }
  }
}

/**
 * Keeps `amount` connections open that `use` writes to: each that the server closes is replaced, at most `perSecond`.
 * Counts the status line of what the server responds.
 */
async function keepOpen(caller, amount, perSecond, use) {
  const open = new Set();
  while (!stopped.signal.aborted) {
    if (open.size < amount) {
      const socket = connect(Number(port), hostname);
      open.add(socket);
      count(caller, 'connections');
      socket.on('error', () => {});
      socket.on('close', () => open.delete(socket));
      socket.once('connect', () => use(socket));
    }
    await sleep(1_000 / perSecond);
  }
}

const countStatus = (caller, socket) =>
  socket.once('data', (data) => count(caller, /^HTTP\/1\.1 (\d+)/.exec(data.toString('latin1'))?.[1] ?? 'unknown'));

function head(fields, key = testKey) {
  const all = {
    host: `${hostname}:${port}`,
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    ...fields,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST /v1/jobs HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** Point 5: 8 kB that inflate to 8 MiB, of a request that never ends. */
function unfinishedGzip() {
  const body = gzipSync(Buffer.alloc(8 * mebibyte - 1024, ' '));
  return keepOpen('unfinished gzip', 60, 10, (socket) => {
    countStatus('unfinished gzip', socket);
    socket.write(head({ 'content-encoding': 'gzip', 'content-length': body.length + 1 }));
    socket.write(body);
  });
}

/** The same without gzip, just below the sandbox's limit and just below everyone's. */
async function unfinishedPlain() {
  const sizes = [250 * 1024, 250 * 1024, 250 * 1024, 7 * mebibyte];
  let made = 0;
  await keepOpen('unfinished plain', 80, 10, (socket) => {
    countStatus('unfinished plain', socket);
    const body = Buffer.alloc(sizes[made++ % sizes.length], ' ');
    socket.write(head({ 'content-length': body.length + 1 }));
    socket.write(body);
  });
}

function silent() {
  return keepOpen('half-open', 150, 30, (socket) => socket.resume());
}

function slowHeaders() {
  return keepOpen('slow headers', 50, 10, (socket) => {
    countStatus('slow headers', socket);
    const bytes = [...head({ 'x-padding': 'x'.repeat(500) })];
    const timer = setInterval(() => (bytes.length ? socket.write(bytes.shift()) : clearInterval(timer)), 1_000);
    socket.on('close', () => clearInterval(timer));
  });
}

/** Requests the sample model again and again on one connection, and reads nothing of it. */
async function unreadResponses() {
  const created = await retried('unread responses', () =>
    fetch(`${url}/v1/jobs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ type: 'image-to-3d', input: { image_urls: ['https://images.invalid/cup.jpg'] } }),
    }),
  );
  const { job_id: id } = JSON.parse(created.text);
  const task = await retried('unread responses', () =>
    fetch(`${url}/v1/jobs/${id}`, { headers: { authorization: `Bearer ${testKey}` } }),
  );
  const { pathname } = new URL(JSON.parse(task.text).model_urls.glb);
  const request = `GET ${pathname} HTTP/1.1\r\nhost: ${hostname}:${port}\r\n\r\n`;
  await keepOpen('unread responses', 50, 10, (socket) => {
    socket.pause();
    socket.write(request.repeat(50));
  });
}

/** Point 6: what would be stored, or repeated in an error, at full length. */
async function largeTypes() {
  const headers = { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' };
  const image = 'https://images.invalid/cup.jpg';
  const bodies = [
    { type: 'x'.repeat(200 * 1024), input: { image_urls: [image] } },
    { type: 'x'.repeat(5 * mebibyte), input: { image_urls: [image] } },
    { type: 'image-to-3d', input: { image_urls: [`${'x'.repeat(200 * 1024)}:cup.jpg`] } },
    { type: 'image-to-3d', input: { image_urls: [`${image}?${'x'.repeat(200 * 1024)}`] } },
  ].map((body) => JSON.stringify(body));
  for (let index = 0; !stopped.signal.aborted; index++) {
    const next = sleep(250);
    await sendOnce('large fields', () =>
      fetch(`${url}/v1/jobs`, { method: 'POST', headers, body: bodies[index % bodies.length] }),
    );
    await next;
  }
}

/** More jobs of the test key than the rate limit lets through. */
async function smallJobs() {
  const headers = { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ type: 'image-to-3d', input: { image_urls: ['https://images.invalid/cup.jpg'] } });
  while (!stopped.signal.aborted) {
    const next = sleep(1_000 / 60);
    void sendOnce('small jobs', () => fetch(`${url}/v1/jobs`, { method: 'POST', headers, body }));
    await next;
  }
}

/** Sends once and counts the outcome, whatever it is. */
async function sendOnce(caller, send) {
  try {
    const response = await send();
    await response.arrayBuffer();
    count(caller, response.status);
  } catch (error) {
    count(caller, error.cause?.code ?? error.message);
  }
}
