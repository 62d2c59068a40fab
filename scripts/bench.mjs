// How long a photo takes, how much memory, and how quickly the API answers meanwhile.
//
//   npm run bench             each demo photo through a real server and the real command line
//   npm run bench engine      the engine alone, stage by stage: time and memory
//   npm run bench api         the API over a million jobs, beside bare Express and SQLite's own commits
//   npm run bench queue       the queue on SQLite and PostgreSQL, beside graphile-worker
//   npm run bench hostile     how one account fares while others and anonymous callers attack the server
//   npm run bench quality     how near the models come to the objects photographed: docs/quality.md
//
// All print Markdown: docs/benchmarks.md and docs/quality.md are what they printed.
import { cpus, totalmem } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { benchApi } from './bench-api.mjs';
import { benchEngine } from './bench-engine.mjs';
import { benchHostile } from './bench-hostile.mjs';
import { benchQuality } from './bench-quality.mjs';
import { benchQueue } from './bench-queue.mjs';
import { demoPhotos } from './photos.mjs';
import { nameOf, peakMemory, processTree } from './process-memory.mjs';
import { Failed, main } from './processes.mjs';
import { requireNode } from './require-node.mjs';
import { startThrowawayServer } from './throwaway-server.mjs';

requireNode();
const pollEveryMs = 50;

const benches = {
  server: benchServer,
  engine: benchEngine,
  api: benchApi,
  queue: benchQueue,
  hostile: benchHostile,
  quality: benchQuality,
};
const bench = benches[process.argv[2] ?? 'server'];

await main(async (atEnd) => {
  if (!bench)
    throw new Failed(
      `There is no bench ${process.argv[2]}: npm run bench, and the same with engine, api, queue, hostile or quality`,
    );
  const cpu = cpus();
  console.log(
    `${cpu[0].model}, ${cpu.length} cores, ${Math.round(totalmem() / 2 ** 30)} GB, Node ${process.version}, ` +
      `${process.platform} ${process.arch}, ${new Date().toISOString().slice(0, 10)}\n`,
  );
  await bench(atEnd);
});

async function benchServer(atEnd) {
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
  const sorted = latencies.toSorted((a, b) => a - b);
  const quantile = (share) => `${sorted[Math.ceil(share * sorted.length) - 1].toFixed(1)} ms`;
  return [quantile(0.5), quantile(0.99), quantile(1), String(sorted.length)];
}

function row(...cells) {
  console.log(`| ${cells.join(' | ')} |`);
}
