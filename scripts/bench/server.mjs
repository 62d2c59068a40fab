// The time from photo to GLB through a real server and the real command line, and the API's latency meanwhile.
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Failed } from '../processes.mjs';
import { demoPhotos } from '../repository.mjs';
import { startThrowawayServer } from '../throwaway-server.mjs';
import { checkouts, comparedPhotos, comparisonRounds, figureReader, printComparison } from './against.mjs';
import { quantile, row, sum } from './figures.mjs';
import { nameOf, peakMemory, processTree } from './process-memory.mjs';

const pollEveryMs = 50;

// These load the matting network, compile the engine, and give the server jobs to base its estimates on.
const warmUpRounds = 3;
// The text of /metrics is cached for a second.
const metricsCacheMs = 1_100;

/**
 * Prints the section `Photo to GLB` of docs/benchmarks.md:
 *
 *   npm run bench                         each demo photo
 *   npm run bench -- --against COMMIT     compares with another commit, or with the folder of a built checkout
 *
 * @param {import('../processes.mjs').AtEnd} atEnd
 */
export async function benchServer(atEnd) {
  const { values } = parseArgs({
    // Without an argument, `npm run bench` passes no name of a benchmark either.
    args: process.argv.slice(2).filter((argument) => argument !== 'server'),
    options: { against: { type: 'string' }, rounds: { type: 'string' } },
  });
  if (values.against) return compare(atEnd, values.against, Number(values.rounds ?? comparisonRounds));
  // The reads of this script and of the command line stay within the default limit. Without it, none can be refused.
  const server = await startThrowawayServer(atEnd, ['--rate-limit', 'off']);
  const all = [];
  row('photo', 'photo to GLB on disk', 'GET /v1/jobs/{id} p50', 'p99', 'longest', 'reads');
  row('---', '--:', '--:', '--:', '--:', '--:');
  for (const photo of demoPhotos()) {
    const { seconds, latencies } = await measureJob(server, photo);
    all.push(...latencies);
    row(basename(photo), `${seconds.toFixed(1)} s`, ...latencyCells(latencies));
  }
  row('all', '', ...latencyCells(all));
  const peaks = processTree(server.pid)
    .filter((pid) => nameOf(pid) === 'runner/runner-process.js')
    .map(peakMemory);
  console.log(`\nPeak memory of the runner process: ${peaks.length ? `${peaks.join(', ')} MB` : 'unknown'}`);
  console.log(`Peak memory of the API process: ${peakMemory(server.pid) ?? 'unknown'} MB`);
  await server.close();
}

/**
 * Prints the figures of another checkout and of this one, which take turns.
 *
 * @param {import('../processes.mjs').AtEnd} atEnd
 * @param {string} against
 * @param {number} rounds
 */
async function compare(atEnd, against, rounds) {
  /** @type {import('../throwaway-server.mjs').ThrowawayServer[]} */
  const servers = [];
  for (const checkout of checkouts(against)) {
    const bin = join(checkout, 'packages/cli/bin/gen3d.js');
    servers.push(await startThrowawayServer(atEnd, [], { bin }));
  }
  /** @type {JobFigures[][][]} by photo, checkout, round */
  const measured = comparedPhotos.map(() => servers.map(() => []));
  for (let round = 1 - warmUpRounds; round <= rounds; round++) {
    for (const [photoIndex, photo] of comparedPhotos.entries()) {
      for (const [index, server] of servers.entries()) {
        const figures = await measureAlone(server, photo);
        if (round > 0) measured[photoIndex][index].push(figures);
      }
    }
  }
  for (const server of servers) await server.close();
  console.log(`\`gen3d create PHOTO --wait\`, medians of ${rounds} rounds.\n`);
  printComparison(
    comparedPhotos.map((photo, index) => {
      const [before, after] = measured[index];
      const figure = figureReader(before, after);
      return {
        label: basename(photo),
        figures: [
          figure('photo to GLB on disk', ' s', 2, ({ seconds }) => seconds),
          figure('inference', ' s', 2, ({ inference }) => inference),
          figure('overhead', ' s', 2, ({ seconds, inference }) => seconds - inference),
          figure('requests', '', 0, ({ requests }) => requests),
        ],
      };
    }),
  );
}

/** @typedef {{ seconds: number, inference: number, requests: number }} JobFigures times in seconds */

/**
 * Runs `gen3d create --wait` with nothing else on the machine.
 *
 * @param {import('../throwaway-server.mjs').ThrowawayServer} server
 * @param {string} photo
 * @returns {Promise<JobFigures>}
 */
async function measureAlone({ url, folder, gen3d }, photo) {
  const totals = async () => {
    await sleep(metricsCacheMs);
    const text = await (await fetch(`${url}/metrics`)).text();
    /** @param {string} pattern */
    const total = (pattern) =>
      sum([...text.matchAll(new RegExp(`^gen3d_${pattern} (.+)$`, 'gm'))].map(([, value]) => Number(value)));
    return {
      inference: total('inference_duration_seconds_sum'),
      // The API and the files, but not /metrics.
      requests: total('http_request_duration_seconds_count\\{.*route="/(?:v1|assets)[^}]*\\}'),
    };
  };
  const before = await totals();
  const startedAt = performance.now();
  const { code, stderr } = await gen3d(['create', photo, '--wait', '-o', join(folder, 'model.glb'), '--force']);
  const seconds = (performance.now() - startedAt) / 1000;
  if (code !== 0) throw new Failed(`gen3d create failed: ${stderr}`);
  const after = await totals();
  return {
    seconds,
    inference: after.inference - before.inference,
    requests: after.requests - before.requests,
  };
}

/**
 * Runs `gen3d create --wait` while this process reads the job's state.
 *
 * @param {import('../throwaway-server.mjs').ThrowawayServer} server
 * @param {string} photo
 */
async function measureJob({ url, apiKey, folder, gen3d }, photo) {
  const glb = join(folder, 'model.glb');
  const headers = { authorization: `Bearer ${apiKey}` };
  /** @param {string} path */
  const read = async (path) => (await fetch(`${url}${path}`, { headers })).json();
  const newest = async () => (await read('/v1/jobs?limit=1')).jobs[0]?.task_id;

  const before = await newest();
  const startedAt = performance.now();
  /** @type {{ seconds?: number }} */
  const result = {};
  const created = gen3d(['create', photo, '--wait', '-o', glb, '--force']).then(({ code, stderr }) => {
    result.seconds = (performance.now() - startedAt) / 1000;
    if (code !== 0) throw new Failed(`gen3d create failed: ${stderr}`);
  });

  const latencies = [];
  let id;
  while (result.seconds === undefined) {
    const nextPoll = sleep(pollEveryMs);
    if (id === undefined) {
      const found = await newest();
      if (found !== before) id = found;
    } else {
      const sentAt = performance.now();
      await read(`/v1/jobs/${id}`);
      latencies.push(performance.now() - sentAt);
    }
    await nextPoll;
  }
  await created;
  return { seconds: result.seconds, latencies };
}

/** @param {readonly number[]} latencies in ms */
function latencyCells(latencies) {
  const cells = [0.5, 0.99, 1].map((share) => `${quantile(latencies, share).toFixed(1)} ms`);
  return [...cells, latencies.length];
}
