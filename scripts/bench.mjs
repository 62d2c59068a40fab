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
import { benchApi } from './bench/api.mjs';
import { benchEngine } from './bench/engine.mjs';
import { benchHostile } from './bench/hostile.mjs';
import { benchQuality } from './bench/quality.mjs';
import { benchQueue } from './bench/queue.mjs';
import { benchServer } from './bench/server.mjs';
import { Failed, main } from './processes.mjs';
import { requireNode } from './require-node.mjs';

requireNode();

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
