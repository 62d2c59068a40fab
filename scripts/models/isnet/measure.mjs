// Measures matting as the engine runs it: time and peak memory for several ways to set up the session, and how far each
// matte is from the first one's. The table in models/isnet/README.md is what this prints.
//
//   node scripts/models/isnet/measure.mjs PHOTO [GRAPH.onnx]     GRAPH: the unconverted graph, to compare with
import { spawnSync } from 'node:child_process';
import { cpus } from 'node:os';
import { join, resolve } from 'node:path';
import { requireFrom, root } from '../../repository.mjs';

const [photo, unconverted, child] = process.argv.slice(2);
const shipped = join(root, 'models/isnet/isnet.onnx');
const side = 1024;
const noArena = { enableCpuMemArena: false, enableMemPattern: false };
const noSpinning = { extra: { 'session.intra_op.allow_spinning': '0' } };
const setups = [
  { title: 'as distributed, default options', graph: unconverted, options: {} },
  { title: 'as distributed, no arena', graph: unconverted, options: noArena },
  { title: 'converted, default options', graph: shipped, options: {} },
  { title: 'converted, no arena', graph: shipped, options: noArena },
  { title: '**converted, no arena, no spinning (ours)**', graph: shipped, options: { ...noArena, ...noSpinning } },
  {
    title: 'the same, layout optimisation off',
    graph: shipped,
    options: { ...noArena, ...noSpinning, graphOptimizationLevel: 'extended' },
  },
].filter(({ graph }) => graph);

// Peak memory belongs to a process, so each setup has its own.
if (child === undefined) {
  console.log(`${cpus()[0].model}, 2 threads, Node ${process.version}, ${photo}\n`);
  console.log('| setup | load | first photo | second | peak memory | afterwards | farthest pixel from the first row |');
  console.log('|---|---|---|---|---|---|---|');
  let reference;
  for (const [index, { title }] of setups.entries()) {
    const args = [import.meta.filename, photo, unconverted ?? '', String(index)];
    const { stdout, stderr, status } = spawnSync(process.execPath, args, { maxBuffer: 64 << 20 });
    if (status !== 0) throw new Error(String(stderr));
    const matte = new Float32Array(side * side);
    new Uint8Array(matte.buffer).set(stdout.subarray(0, matte.byteLength));
    const { seconds, peakMB, afterMB } = JSON.parse(stdout.subarray(matte.byteLength).toString());
    reference ??= matte;
    let farthest = 0;
    for (let i = 0; i < matte.length; i++) farthest = Math.max(farthest, Math.abs(matte[i] - reference[i]));
    const times = seconds.map((value) => `${value.toFixed(1)} s`).join(' | ');
    console.log(`| ${title} | ${times} | ${peakMB} MB | ${afterMB} MB | ${farthest.toFixed(5)} |`);
  }
} else {
  process.env.ORT_DISABLE_TELEMETRY = '1';
  const require = requireFrom('engine');
  const { InferenceSession, Tensor } = require('onnxruntime-node');
  const sharp = require('sharp');
  const { graph, options } = setups[Number(child)];
  const pixels = await sharp(photo)
    .resize(side, side, { fit: 'fill' })
    .removeAlpha()
    .toColourspace('srgb')
    .raw()
    .toBuffer();
  const input = Float32Array.from(
    { length: 3 * side * side },
    (_, i) => (pixels[3 * (i % (side * side)) + Math.floor(i / (side * side))] - 128) / 256,
  );

  const seconds = [];
  const timed = async (work) => {
    const started = performance.now();
    const result = await work();
    seconds.push((performance.now() - started) / 1000);
    return result;
  };
  const session = await timed(() =>
    InferenceSession.create(resolve(graph), {
      intraOpNumThreads: 2,
      interOpNumThreads: 1,
      logSeverityLevel: 3,
      ...options,
    }),
  );
  const run = () => session.run({ input: new Tensor('float32', input, [1, 3, side, side]) }, ['output']);
  await timed(run);
  const { output } = await timed(run);
  const peakMB = Math.round(process.resourceUsage().maxRSS / 1024);
  const afterMB = Math.round(process.memoryUsage.rss() / 2 ** 20);
  process.stdout.write(new Uint8Array(output.data.buffer, output.data.byteOffset, output.data.byteLength));
  process.stdout.write(JSON.stringify({ seconds, peakMB, afterMB }));
}
