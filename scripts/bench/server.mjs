// The time from photo to GLB through a real server and the real command line, and the API's latency meanwhile.
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failed } from '../processes.mjs';
import { demoPhotos } from '../repository.mjs';
import { startThrowawayServer } from '../throwaway-server.mjs';
import { quantile, row } from './figures.mjs';
import { nameOf, peakMemory, processTree } from './process-memory.mjs';

const pollEveryMs = 50;

/**
 * Prints the section `Photo to GLB, through the server and the command line` of docs/benchmarks.md.
 *
 * @param {import('../processes.mjs').AtEnd} atEnd
 */
export async function benchServer(atEnd) {
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
    .filter((pid) => nameOf(pid) === 'runner/main.js')
    .map(peakMemory);
  console.log(`\nPeak memory of the runner process: ${peaks.length ? `${peaks.join(', ')} MB` : 'unknown'}`);
  console.log(`Peak memory of the API process: ${peakMemory(server.pid) ?? 'unknown'} MB`);
  await server.close();
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
