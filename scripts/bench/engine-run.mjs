// Makes two models and measures the second, for engine.mjs: the first also compiles and loads the matting network.
// In a separate process, because peak memory is counted per process.
//
//   node scripts/bench/engine-run.mjs '{ "checkout", "bundle", "device", "resolution", "photo" }'
//
// `checkout` is the repository whose engine is measured. Without a resolution, its own default applies.
//
// Prints { load, total, stages: { name: { seconds, megabytes } }, peak, triangles, bytes } as JSON.
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { peakMemory } from './process-memory.mjs';

const { checkout, bundle, device, resolution, photo } = JSON.parse(process.argv[2]);
const { Engine } = await import(pathToFileURL(join(checkout, 'packages/engine/dist/index.js')).href);
/** @param {number} since */
const secondsSince = (since) => (performance.now() - since) / 1000;

const loadStart = performance.now();
const modelDirs = [join(checkout, 'models'), ...(bundle.includes('/') ? [dirname(bundle)] : [])];
const engine = await Engine.open({ bundle: basename(bundle), matte: 'isnet', device, modelDirs });
const load = secondsSince(loadStart);
const bytes = readFileSync(photo);
await engine.generate(bytes, { resolution });

/** The peak of loading and of the first model, then of each stage of the second. */
const peaks = [peakMemory('self') ?? 0];
resetPeakMemory();
const start = performance.now();
const { glb, stats } = await engine.generate(bytes, {
  resolution,
  onProgress() {
    peaks.push(peakMemory('self') ?? 0);
    resetPeakMemory();
  },
});
const total = secondsSince(start);
await engine.close();
const stages = Object.entries(stats.stageMs).map(([name, ms], stage) => [
  name,
  { seconds: ms / 1000, megabytes: peaks[stage + 1] },
]);
const peak = Math.max(...peaks) || Math.round(process.resourceUsage().maxRSS / 1024);
const { triangles } = stats;
console.log(JSON.stringify({ load, total, stages: Object.fromEntries(stages), peak, triangles, bytes: glb.length }));

/** Sets the peak to the present memory: 5 in clear_refs, see proc(5). */
function resetPeakMemory() {
  try {
    writeFileSync('/proc/self/clear_refs', '5');
  } catch {
    // Without it, each stage's figure is the maximum so far.
  }
}
