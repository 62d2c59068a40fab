// Makes models on a pool and measures all but the first ones, which also start the threads and load the networks. Runs
// in a separate process of bench.mjs, because peak memory is counted per process.
//
//   node models/lab/throughput/run.mjs '{ "bundle", "device", "photo", "threads", "photos", "cacheDir" }'
//
// Prints { seconds, cpuSeconds, deviceSeconds, stageMs, peak } as JSON: the time of all photos, processor time of all
// threads, the time during which the device was used, the mean time of each stage, and the peak memory in MB.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EnginePool } from '../../../packages/engine/dist/index.js';
import { sum } from '../../../scripts/bench/figures.mjs';
import { peakMemory } from '../../../scripts/bench/process-memory.mjs';
import { root } from '../../../scripts/repository.mjs';

const { bundle, device, photo, threads, photos, cacheDir } = JSON.parse(process.argv[2]);
const modelDirs = [join(root, 'models')];
const pool = await EnginePool.open({ bundle, matte: 'isnet', device, modelDirs, cacheDir, pipelines: threads });
const bytes = readFileSync(photo);
/** @param {number} count */
const generate = (count) => Promise.all(Array.from({ length: count }, () => pool.generate(bytes)));

// One by one, so that the simulated device records its outputs once.
await generate(1);
// V8 compiles the engine in each thread: the first models of a thread take twice as long.
await generate(4 * threads);
const start = performance.now();
const cpuStart = process.cpuUsage();
const made = await generate(photos);
const seconds = (performance.now() - start) / 1000;
const deviceSeconds = sum(made.map(({ deviceMs }) => deviceMs)) / 1000;
const { user, system } = process.cpuUsage(cpuStart);
const stageMs = Object.fromEntries(
  Object.keys(made[0].stats.stageMs).map((stage) => [
    stage,
    sum(
      made.map(
        ({ stats }) => stats.stageMs[/** @type {import('../../../packages/engine/dist/index.js').Stage} */ (stage)],
      ),
    ) / photos,
  ]),
);
const cpuSeconds = (user + system) / 1e6;
console.log(JSON.stringify({ seconds, cpuSeconds, deviceSeconds, stageMs, peak: peakMemory('self') }));
await pool.close();
