// Plays of `node models/lab/bench.mjs hostile --plays SECONDS`: one or two members send one authenticated request as fast as
// the rate limit permits, to a server whose database is 1 ms away.
import { once, setMaxListeners } from 'node:events';
import { request } from 'node:http';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { portOf } from './requests.mjs';

const perSecond = 50;
const newClientEveryMs = 200;
/** In each direction. */
const latencyMs = 0.5;

/** The members and the new client have addresses of their own, which a proxy names. */
const addresses = { members: ['203.0.113.1', '203.0.113.2'], newClient: '198.51.100.1' };

/**
 * Starts a TCP proxy that delays what it forwards.
 *
 * @param {string} databaseUrl of PostgreSQL
 * @returns {Promise<string>} the database's URL through the proxy
 */
export async function withLatency(databaseUrl) {
  const url = new URL(databaseUrl);
  const { hostname, port } = url;
  const proxy = createServer((client) => {
    const database = connect(Number(port), hostname);
    for (const [from, to] of [
      [client, database],
      [database, client],
    ]) {
      from.setNoDelay(true);
      from.on('data', (part) => void setTimeout(() => to.write(part), latencyMs));
      from.on('close', () => to.destroy()).on('error', () => to.destroy());
    }
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  proxy.unref();
  url.hostname = '127.0.0.1';
  url.port = String(portOf(proxy));
  return url.href;
}

/**
 * Sends a GET on a new connection.
 *
 * @param {string} url
 * @param {Record<string, string>} headers
 * @param {{ method?: string, body?: string, signal?: AbortSignal }} [options]
 * @returns {Promise<{ status: number | string, body: string, cookie: string, ms: number }>} the status, or the code of the
 *   connection's error
 */
async function get(url, headers, { method = 'GET', body = '', signal } = {}) {
  const startedAt = performance.now();
  const end = (/** @type {number | string} */ status, text = '', cookie = '') => ({
    status,
    body: text,
    cookie,
    ms: performance.now() - startedAt,
  });
  const sent = request(url, { method, headers, agent: false, ...(signal && { signal }) });
  sent.end(body);
  try {
    /** @type {[import('node:http').IncomingMessage]} */
    // @ts-expect-error: `once` does not relate its result to the event
    const [response] = await once(sent, 'response');
    let text = '';
    for await (const part of response.setEncoding('utf8')) text += part;
    return end(response.statusCode ?? 0, text, response.headers['set-cookie']?.[0]?.split(';')[0]);
  } catch (error) {
    return end(/** @type {NodeJS.ErrnoException} */ (error).code ?? 'error');
  }
}

/**
 * @param {string} url
 * @param {string} key
 * @param {string} address
 */
async function signIn(url, key, address) {
  const headers = {
    'content-type': 'application/json',
    'sec-fetch-site': 'same-origin',
    'x-forwarded-for': address,
  };
  const { cookie } = await get(`${url}/dashboard/api/session`, headers, {
    method: 'POST',
    body: JSON.stringify({ api_key: key }),
  });
  return { cookie, 'x-forwarded-for': address };
}

/**
 * A request that members repeat. In its path and body, JOB is the member's unfinished job, and EACH one of its finished
 * jobs, another each time.
 *
 * @typedef {{ method: string, path: string, body?: object }} Permitted
 */

/** @type {readonly Permitted[]} */
const reads = [
  ...['/v1/jobs', '/v1/jobs/JOB', '/v1/balance', '/v1/webhook-endpoint'],
  ...['/gen3d/jobs', '/gen3d/jobs?search=zzzz', '/gen3d/jobs?group=failed', '/gen3d/jobs/JOB'],
  ...['/gen3d/jobs/JOB/events', '/gen3d/events', '/v1/3d/generations/JOB'],
  ...['session', 'jobs', 'jobs/JOB', 'gallery', 'gallery/JOB', 'gallery/JOB/events', 'job-details/JOB'].map(
    (path) => `/dashboard/api/${path}`,
  ),
  ...['job-details/JOB/photo', 'balance', 'ledger', 'keys', 'webhook-endpoint'].map((path) => `/dashboard/api/${path}`),
  ...['events', 'events/JOB/delivery', 'stream'].map((path) => `/dashboard/api/${path}`),
].map((path) => ({ method: 'GET', path }));

const photo = `data:image/png;base64,${Buffer.alloc(16 * 1024, 'not an image').toString('base64')}`;
const endpoint = '/v1/webhook-endpoint';

/** @type {readonly Permitted[]} */
const writes = [
  // Each costs the server a creation, two claims and an end, but no work.
  { method: 'POST', path: '/v1/jobs', body: newJob('http://127.0.0.1:9/x') },
  { method: 'POST', path: '/v1/jobs', body: newJob(photo) },
  { method: 'POST', path: '/gen3d/jobs/JOB/cancel' },
  { method: 'POST', path: '/gen3d/jobs/EACH/retry' },
  { method: 'DELETE', path: '/gen3d/jobs/EACH' },
  { method: 'PUT', path: '/gen3d/jobs/EACH/share' },
  { method: 'PUT', path: endpoint, body: { url: 'https://receiver.invalid/hook' } },
  { method: 'POST', path: `${endpoint}/rotate` },
  { method: 'POST', path: `${endpoint}/test` },
  { method: 'POST', path: '/dashboard/api/events/EACH/replay' },
  { method: 'POST', path: '/dashboard/api/keys', body: { name: 'another' } },
  { method: 'DELETE', path: endpoint },
];

/** @param {string} url of the photo */
function newJob(url) {
  return { type: 'image-to-3d', input: { image_urls: [url] } };
}

/**
 * @param {string} url of the server
 * @param {readonly { key: string, job: string, finished: readonly string[] }[]} members two
 * @param {{ key: string, job: string }} newcomer
 * @param {{ seconds: number, only?: RegExp | undefined }} options `only` matches the requests to play, as /^GET/
 * @returns an asynchronous iterator over the results of each play
 */
export async function* playPermitted(url, members, newcomer, { seconds, only = /./ }) {
  const sessions = await Promise.all(members.map(({ key }, index) => signIn(url, key, addresses.members[index])));
  const requests = [...reads, ...writes].filter(({ method, path }) => only.test(`${method} ${path}`));
  let each = 0;
  for (const [index, { method, path, body }] of requests.entries()) {
    // The first play is without members: what is slow then is the machine.
    for (const count of index === 0 ? [0, 1, 2] : [1, 2]) {
      /** @type {Record<string, number>} */
      const statuses = {};
      /** @type {Array<{ status: number | string, ms: number }>} */
      const answers = [];
      const ended = new AbortController();
      setMaxListeners(0, ended.signal);
      const attack = setInterval(() => {
        each++;
        for (const [index, { key, job, finished }] of members.slice(0, count).entries()) {
          const fill = (/** @type {string} */ text) =>
            text.replace('JOB', job).replace('EACH', finished.at(-(each % finished.length)) ?? job);
          const headers = {
            ...(path.startsWith('/dashboard') ? sessions[index] : { authorization: `Bearer ${key}` }),
            'x-forwarded-for': addresses.members[index],
            'sec-fetch-site': 'same-origin',
            ...(body && { 'content-type': 'application/json' }),
          };
          const options = { method, body: body ? fill(JSON.stringify(body)) : '', signal: ended.signal };
          void get(url + fill(path), headers, options).then(({ status }) => {
            statuses[status] = (statuses[status] ?? 0) + 1;
          });
        }
      }, 1_000 / perSecond);
      const endsAt = performance.now() + seconds * 1_000;
      const pending = [];
      for (let index = 0; performance.now() < endsAt; index++) {
        const target = index % 2 ? '/healthz' : `/v1/jobs/${newcomer.job}`;
        const headers = { authorization: `Bearer ${newcomer.key}`, 'x-forwarded-for': addresses.newClient };
        pending.push(get(url + target, headers).then((answer) => answers.push(answer)));
        await sleep(newClientEveryMs);
      }
      clearInterval(attack);
      await Promise.all(pending);
      ended.abort();
      const refused = answers.filter(({ status }) => status !== 200);
      yield {
        request: `${method} ${path}${body && path === '/v1/jobs' ? ` (${JSON.stringify(body).length} bytes)` : ''}`,
        members: count,
        statuses,
        longestMs: Math.max(...answers.map(({ ms }) => ms)),
        refused: refused.map(({ status }) => status),
        requests: answers.length,
      };
    }
  }
}
