// Benchmarks of the networks, the queue and the limits of callers. All print Markdown.
//
//   node models/lab/bench.mjs quality   how closely the models match the photographed objects: docs/quality.md
//   node models/lab/bench.mjs matting   matting at several sizes, on photos with a known matte: models/isnet/README.md
//   node models/lab/bench.mjs triposr   a bundle next to TripoSR's own pipeline in PyTorch: docs/benchmarks.md
//   node models/lab/bench.mjs queue     the queue on SQLite and PostgreSQL, next to graphile-worker: docs/benchmarks.md
//   node models/lab/bench.mjs hostile   one account while others attack the server: docs/benchmarks.md
//   node models/lab/bench.mjs throughput  photos per minute with several threads, and the idle share of the device
//   node models/lab/bench.mjs searches  one account while others search long lists of jobs: docs/benchmarks.md
import { runBench } from '../../scripts/bench/run.mjs';
import { benchTriposr } from './exporters/triposr/bench.mjs';
import { benchHostile } from './hostile/bench.mjs';
import { benchSearches } from './hostile/searches.mjs';
import { benchMatting } from './matting/bench.mjs';
import { benchQuality } from './quality/bench.mjs';
import { benchThroughput } from './throughput/bench.mjs';

await runBench({
  quality: benchQuality,
  matting: benchMatting,
  triposr: benchTriposr,
  hostile: benchHostile,
  searches: benchSearches,
  throughput: benchThroughput,
  // Loaded on demand, because only this one needs the dependencies in package.json.
  queue: async (atEnd) => (await import('./queue/bench.mjs')).benchQueue(atEnd),
});
