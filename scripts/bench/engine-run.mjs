// One model made by the engine in a process of its own, which is how its memory is its own too; for engine.mjs.
//   node scripts/bench/engine-run.mjs '{ "bundle", "device", "resolution", "photo" }'
// The second of two models is measured: the first also pays for compiling and for loading the matting network.
// Prints { load, total, stages: { name: { seconds, megabytes } }, peak, triangles } as JSON.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../repository.mjs';

const { bundle, device, resolution, photo } = JSON.parse(process.argv[2]);
const { Engine } = await import(pathToFileURL(join(root, 'packages/engine/dist/index.js')).href);
const seconds = (since) => (performance.now() - since) / 1000;

const begun = performance.now();
const modelDirs = [join(root, 'models'), ...(bundle.includes('/') ? [dirname(bundle)] : [])];
const engine = await Engine.open({ bundle: bundle.split('/').at(-1), matte: 'isnet', device, modelDirs });
const load = seconds(begun);
const bytes = readFileSync(photo);
await engine.generate(bytes, { resolution });

// What the peak is before it is set back the first time: loading and the first model.
const before = peakMegabytes();
const peaks = [];
resetPeak();
const started = performance.now();
const { stats } = await engine.generate(bytes, {
  resolution,
  onProgress() {
    peaks.push(peakMegabytes());
    resetPeak();
  },
});
const total = seconds(started);
await engine.close();
const stages = Object.entries(stats.stageMs).map(([name, ms], stage) => [
  name,
  { seconds: ms / 1000, megabytes: peaks[stage] },
]);
const peak =
  Math.max(before ?? 0, ...peaks.map((megabytes) => megabytes ?? 0)) ||
  Math.round(process.resourceUsage().maxRSS / 1024);
console.log(JSON.stringify({ load, total, stages: Object.fromEntries(stages), peak, triangles: stats.triangles }));

/** The most that was resident since the last reset; undefined where the kernel does not say (other than Linux). */
function peakMegabytes() {
  try {
    return Math.round(/VmHWM:\s*(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1] / 1024);
  } catch {
    return undefined;
  }
}

/** proc(5), clear_refs: 5 sets the peak back to what is resident now. */
function resetPeak() {
  try {
    writeFileSync('/proc/self/clear_refs', '5');
  } catch {
    // Then every stage's figure is the greatest so far.
  }
}
