// Benchmarks. All print Markdown; docs/benchmarks.md and docs/quality.md contain their output.
//
//   npm run bench             each demo photo through a real server and the real command line
//   npm run bench engine      the engine alone: time and memory of each stage
//                             both can be compared with another checkout: `npm run bench -- --against CHECKOUT`
//   npm run bench throughput  photos per minute with several threads, and the idle share of the device
//   npm run bench api         the API with a million jobs, next to bare Express and SQLite's own commits
//   npm run bench matting     matting at several sizes, on photos with a known matte: models/isnet/README.md
//   npm run bench queue       the queue on SQLite and PostgreSQL, next to graphile-worker
//   npm run bench hostile     one account while other accounts and anonymous callers attack the server
//   npm run bench quality     how closely the models match the photographed objects: docs/quality.md
import { cpus, totalmem } from 'node:os';
import { benchApi } from './bench/api.mjs';
import { benchEngine } from './bench/engine.mjs';
import { benchHostile } from './bench/hostile.mjs';
import { benchMatting } from './bench/matting.mjs';
import { benchQuality } from './bench/quality.mjs';
import { benchQueue } from './bench/queue.mjs';
import { benchServer } from './bench/server.mjs';
import { benchThroughput } from './bench/throughput.mjs';
import { Failed, main } from './processes.mjs';
import { requireNode } from './require-node.mjs';

requireNode();

const benches = new Map([
  ['server', benchServer],
  ['engine', benchEngine],
  ['throughput', benchThroughput],
  ['api', benchApi],
  ['queue', benchQueue],
  ['hostile', benchHostile],
  ['quality', benchQuality],
  ['matting', benchMatting],
]);
const [first = 'server'] = process.argv.slice(2);
const name = first.startsWith('-') ? 'server' : first;
const bench = benches.get(name);

await main(async (atEnd) => {
  if (!bench) throw new Failed(`Unknown benchmark ${name}. Choose one of: ${[...benches.keys()].join(', ')}`);
  const cores = cpus();
  console.log(
    `${cores[0]?.model}, ${cores.length} cores, ${Math.round(totalmem() / 2 ** 30)} GB, Node ${process.version}, ` +
      `${process.platform} ${process.arch}, ${new Date().toISOString().slice(0, 10)}\n`,
  );
  await bench(atEnd);
});
