// One member's failing jobs, at the permitted rate, on a slow disk: how long new clients wait meanwhile. Linux, with `cc`.
//
//   node scripts/bench/slow-disk.mjs [--database URL] [--seconds 12]
//
// The job's image URL has a private address, so each job costs the server a creation, two claims and an end, but no work.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { main } from '../processes.mjs';
import { startThrowawayServer } from '../throwaway-server.mjs';
import { quantile, row } from './figures.mjs';

const createEveryMs = 20;
const readEveryMs = 100;
const timeoutMs = 10_000;
const body = JSON.stringify({ type: 'image-to-3d', input: { image_urls: ['http://127.0.0.1:9/x'] } });

/**
 * Builds the library that makes each sync slower.
 *
 * @param {string} folder where to put it
 * @param {number} syncMs
 * @returns {NodeJS.ProcessEnv} the environment of a server that loads it
 */
export function slowDisk(folder, syncMs) {
  const library = join(folder, `slow-disk-${syncMs}.so`);
  const source = fileURLToPath(new URL('slow-disk.c', import.meta.url));
  // Compiled in, because children get few variables.
  const microseconds = `-DSLOW_DISK_MICROSECONDS=${syncMs * 1_000}`;
  execFileSync('cc', ['-shared', '-fPIC', microseconds, '-o', library, source, '-ldl']);
  return { LD_PRELOAD: library };
}

/**
 * Creates failing jobs with one key, and reads with the other on new connections.
 *
 * @param {{ url: string, apiKey: string, seconds: number, rate?: number }} settings `rate`: creations per second
 * @returns {Promise<{ reads: number[], probes: number[], creates: number[], refused: number }>} milliseconds of the GETs of a
 *   new client, of /healthz and of the accepted POSTs, each at most `timeoutMs`
 */
export async function playFailingJobs({ url, apiKey, seconds, rate = 1_000 / createEveryMs }) {
  const headers = { authorization: `Bearer ${apiKey}` };
  /** @type {number[][]} */
  const [reads, probes, creates] = [[], [], []];
  let refused = 0;
  /** @type {Promise<void>[]} */
  const pending = [];
  const startedAt = performance.now();
  const endAt = startedAt + seconds * 1_000;
  const create = async () => {
    const { status, ms } = await send(`${url}/v1/jobs`, { method: 'POST', headers }, body);
    if (status === 202) creates.push(ms);
    else refused++;
  };
  const read = async (/** @type {string} */ path, /** @type {number[]} */ times) => {
    const { ms } = await send(url + path, { headers });
    times.push(ms);
  };
  const every = async (/** @type {number} */ ms, /** @type {() => Promise<void>} */ task) => {
    for (let at = startedAt; at < endAt; at += ms) {
      await sleep(Math.max(0, at - performance.now()));
      pending.push(task());
    }
  };
  await Promise.all([
    ...(rate > 0 ? [every(1_000 / rate, create)] : []),
    every(readEveryMs, () => read('/v1/balance', reads)),
    every(10 * readEveryMs, () => read('/healthz', probes)),
  ]);
  await Promise.all(pending);
  return { reads, probes, creates, refused };
}

/**
 * Sends a request on a new connection.
 *
 * @param {string} url
 * @param {import('node:http').RequestOptions} options
 * @param {string} [content]
 * @returns {Promise<{ status: number, ms: number }>} status 0 if it failed or took too long
 */
function send(url, options, content = '') {
  const startedAt = performance.now();
  return new Promise((resolve) => {
    const end = (/** @type {number} */ status) => resolve({ status, ms: performance.now() - startedAt });
    const sent = request(url, { ...options, agent: false, signal: AbortSignal.timeout(timeoutMs) }, (response) => {
      response.resume().on('end', () => end(response.statusCode ?? 0));
    });
    sent.on('error', () => end(0)).end(content);
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: { database: { type: 'string', default: 'sqlite' }, seconds: { type: 'string', default: '12' } },
  });
  const flags = ['--bundle', 'inflate', '--database', values.database];
  const ms = (/** @type {number} */ value) => `${Math.round(value)} ms`;
  await main(async (atEnd) => {
    const folder = mkdtempSync(join(tmpdir(), 'gen3d-'));
    atEnd(() => rmSync(folder, { recursive: true }));
    row('sync', 'creates/s', 'new client GET p50', 'longest', '/healthz longest', 'accepted', 'POST p50');
    row('--:', '--:', '--:', '--:', '--:', '--:', '--:');
    for (const [syncMs, rate] of [
      [5, 0],
      [5, 50],
      [10, 50],
    ]) {
      const server = await startThrowawayServer(atEnd, flags, { env: slowDisk(folder, syncMs) });
      const { reads, probes, creates } = await playFailingJobs({ ...server, seconds: Number(values.seconds), rate });
      const times = [quantile(reads, 0.5), Math.max(...reads), Math.max(...probes)];
      row(ms(syncMs), rate, ...times.map(ms), creates.length, ms(quantile(creates, 0.5)));
      await server.close(60_000);
    }
  });
}
