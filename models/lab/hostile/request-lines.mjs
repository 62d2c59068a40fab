// `node models/lab/bench.mjs hostile --lines COUNT`: anybody sends requests whose targets and methods all differ. Each of them could
// be a series of the metrics, which Prometheus reads every 15 s.
import { once } from 'node:events';
import { METHODS, request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { peakMemory } from '../../../scripts/bench/process-memory.mjs';
import { Failed } from '../../../scripts/processes.mjs';
import { startThrowawayServer } from '../../../scripts/throwaway-server.mjs';

const connections = 16;
const perConnection = 10;
const reads = 5;
/** The text is cached for a second. */
const readEveryMs = 1_500;

/** Requests after which every combination of route and status has occurred. */
const first = 10_000;

export const limits = { metricsMs: 100, series: 100 };

const longPath = 'a'.repeat(8_000);
/** @type {readonly ((n: number) => string)[]} */
const kinds = [
  (n) => `GET http://host-${n}/healthz`,
  (n) => `GET http://127.0.0.1/mount-${n}/healthz`,
  (n) => `POST https://host-${n}.invalid:${n % 65_536}/v1/jobs`,
  (n) => `GET /Healthz/?n=${n}`,
  (n) => `GET /mount-${n}/healthz`,
  (n) => `GET //${n}/v1/jobs/${n}`,
  (n) => `GET /%76%31/jobs/${n}`,
  (n) => `GET /v1/jobs/${n}/more/${n}`,
  (n) => `GET /V1/Jobs/${longPath}${n}`,
  (n) => `GET /dashboard/page-${n}`,
  (n) => `GET /dashboard/api/jobs/${n}`,
  (n) => `HEAD /share/${n}`,
  (n) => `GET /docs/${n}`,
  (n) => `GET /assets/${n}/${n}/model.glb`,
  (n) => `OPTIONS *?${n}`,
  (n) => `${METHODS[n % METHODS.length]} /v1/balance?${n}`,
  (n) => `METHOD${n} /v1/balance`,
];

/**
 * @param {import('../../../scripts/processes.mjs').AtEnd} atEnd
 * @param {number} count of request lines
 */
export async function playRequestLines(atEnd, count) {
  if (!(count > first)) throw new Failed(`--lines must be a number above ${first}`);
  const server = await startThrowawayServer(atEnd, ['--workers', '0']);
  const port = Number(new URL(server.url).port);
  await sendLines(port, 0, first);
  // The first read adds the series of itself.
  await metrics(server.url);
  await sleep(readEveryMs);
  const before = await metrics(server.url);
  const startedAt = performance.now();
  await sendLines(port, first, count);
  const seconds = (performance.now() - startedAt) / 1_000;
  const times = [];
  let after = before;
  for (let read = 0; read < reads; read++) {
    await sleep(readEveryMs);
    after = await metrics(server.url);
    times.push(after.ms);
  }
  return {
    perSecond: (count - first) / seconds,
    seriesBefore: before.series,
    series: after.series,
    bytes: after.bytes,
    longestMs: Math.max(...times),
    megabytes: peakMemory(server.pid),
  };
}

/**
 * Sends the requests from number `from` to before number `to`, some on each connection. The server discards what follows
 * one that it refuses.
 *
 * @param {number} port
 * @param {number} from
 * @param {number} to
 */
async function sendLines(port, from, to) {
  let next = from;
  const lane = async () => {
    while (next < to) {
      const numbers = Array.from({ length: Math.min(perConnection, to - next) }, () => next++);
      const socket = connect(port, '127.0.0.1').on('error', () => {});
      const requests = numbers.map((n) => `${kinds[n % kinds.length]?.(n)} HTTP/1.1\r\nHost: 127.0.0.1\r\n`);
      socket.write(`${requests.join('\r\n')}Connection: close\r\n\r\n`);
      socket.resume();
      await once(socket, 'close');
    }
  };
  await Promise.all(Array.from({ length: connections }, lane));
}

/** @param {string} url */
async function metrics(url) {
  const startedAt = performance.now();
  const sent = request(`${url}/metrics`, { agent: false }).end();
  /** @type {[import('node:http').IncomingMessage]} */
  // @ts-expect-error: `once` does not relate its result to the event
  const [response] = await once(sent, 'response');
  let text = '';
  for await (const part of response.setEncoding('utf8')) text += part;
  if (response.statusCode !== 200) throw new Failed(`GET /metrics responded with ${response.statusCode}`);
  const ms = performance.now() - startedAt;
  return { ms, bytes: text.length, series: text.match(/^gen3d_http_request_duration_seconds_count/gm)?.length ?? 0 };
}
