// How long a photo takes through a real server and the real command line, and how quickly the API responds meanwhile.
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failed } from '../processes.mjs';
import { demoPhotos } from '../repository.mjs';
import { startThrowawayServer } from '../throwaway-server.mjs';
import { quantile, row } from './figures.mjs';
import { nameOf, peakMemory, processTree } from './process-memory.mjs';

const pollEveryMs = 50;

/** Prints the section `Photo to GLB, through the server and the command line` of docs/benchmarks.md. */
export async function benchServer(atEnd) {
  // 20 reads a second from here and the command line's own would fit the default limit; without one nothing is hidden.
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
  console.log(`\nPeak memory of the runner process: ${peaks.length ? `${peaks.join(', ')} MB` : 'not known here'}`);
  console.log(`Peak memory of the API process: ${peakMemory(server.pid) ?? 'not known here'} MB`);
  await server.close();
}

/** Runs `gen3d create --wait` while this process, which has nothing else to do, reads the job's state. */
async function measureJob({ url, apiKey, folder, gen3d }, photo) {
  const glb = join(folder, 'model.glb');
  const headers = { authorization: `Bearer ${apiKey}` };
  const read = async (path) => (await fetch(`${url}${path}`, { headers })).json();
  const newest = async () => (await read('/v1/jobs?limit=1')).jobs[0]?.task_id;

  const before = await newest();
  const startedAt = performance.now();
  let seconds;
  const created = gen3d(['create', photo, '--wait', '-o', glb, '--force']).then(({ code, stderr }) => {
    seconds = (performance.now() - startedAt) / 1000;
    if (code !== 0) throw new Failed(`gen3d create failed: ${stderr}`);
  });

  const latencies = [];
  let id;
  while (seconds === undefined) {
    const wake = sleep(pollEveryMs);
    if (id === undefined) {
      const found = await newest();
      if (found !== before) id = found;
    } else {
      const asked = performance.now();
      await read(`/v1/jobs/${id}`);
      latencies.push(performance.now() - asked);
    }
    await wake;
  }
  await created;
  return { seconds, latencies };
}

function latencyCells(latencies) {
  const cells = [0.5, 0.99, 1].map((share) => `${quantile(latencies, share).toFixed(1)} ms`);
  return [...cells, String(latencies.length)];
}
