// Measures matting as the engine runs it: time and peak memory for several session options, and the maximum difference
// of each matte from the first. Prints the table in models/isnet/README.md.
//
//   node models/lab/exporters/isnet/measure.mjs PHOTO [GRAPH.onnx]     GRAPH: the unconverted graph, to compare with
import { spawnSync } from 'node:child_process';
import { cpus } from 'node:os';
import { join, resolve } from 'node:path';
import { requireFrom, root } from '../../../../scripts/repository.mjs';

/** @typedef {import('onnxruntime-node').InferenceSession.SessionOptions} SessionOptions */
/** @typedef {{ seconds: number[], peakMB: number, afterMB: number }} Figures load, first and second run; memory */

const [photo, unconverted = '', child] = process.argv.slice(2);
const converted = join(root, 'models/isnet/isnet.onnx');
const side = 1024;
const noArena = { enableCpuMemArena: false, enableMemPattern: false };
const noSpinning = { extra: { 'session.intra_op.allow_spinning': '0' } };
/** @type {Array<{ title: string, graph: string, options: SessionOptions }>} */
const setups = [
  { title: 'as distributed, default options', graph: unconverted, options: {} },
  { title: 'as distributed, no arena', graph: unconverted, options: noArena },
  { title: 'converted, default options', graph: converted, options: {} },
  { title: 'converted, no arena', graph: converted, options: noArena },
  { title: '**converted, no arena, no spinning (ours)**', graph: converted, options: { ...noArena, ...noSpinning } },
  {
    title: 'the same, layout optimization off',
    graph: converted,
    options: { ...noArena, ...noSpinning, graphOptimizationLevel: 'extended' },
  },
];

// Peak memory is counted per process, so each setup runs in a separate one.
if (child === undefined) {
  console.log(`${cpus()[0]?.model}, 2 threads, Node ${process.version}, ${photo}\n`);
  console.log(
    '| setup | load | first photo | second | peak memory | afterwards | maximum difference from the first row |',
  );
  console.log('|---|---|---|---|---|---|---|');
  let reference;
  for (const [index, { title, graph }] of setups.entries()) {
    if (!graph) continue;
    const args = [import.meta.filename, photo, unconverted, String(index)];
    const { stdout, stderr, status } = spawnSync(process.execPath, args, { maxBuffer: 64 << 20 });
    if (status !== 0) throw new Error(String(stderr));
    const matte = new Float32Array(side * side);
    new Uint8Array(matte.buffer).set(stdout.subarray(0, matte.byteLength));
    /** @type {Figures} */
    const { seconds, peakMB, afterMB } = JSON.parse(stdout.subarray(matte.byteLength).toString());
    reference ??= matte;
    let maxDifference = 0;
    for (let i = 0; i < matte.length; i++) maxDifference = Math.max(maxDifference, Math.abs(matte[i] - reference[i]));
    const times = seconds.map((value) => `${value.toFixed(1)} s`).join(' | ');
    console.log(`| ${title} | ${times} | ${peakMB} MB | ${afterMB} MB | ${maxDifference.toFixed(5)} |`);
  }
} else {
  const { matte, ...figures } = await measure(setups[Number(child)]);
  process.stdout.write(new Uint8Array(matte.buffer, matte.byteOffset, matte.byteLength));
  process.stdout.write(JSON.stringify(figures));
}

/**
 * @param {(typeof setups)[number]} setup
 * @returns {Promise<Figures & { matte: Float32Array }>}
 */
async function measure({ graph, options }) {
  process.env.ORT_DISABLE_TELEMETRY = '1';
  /** @type {typeof import('onnxruntime-node')} */
  const { InferenceSession, Tensor } = requireFrom('engine')('onnxruntime-node');
  /** @type {typeof import('sharp').default} */
  const sharp = requireFrom('engine')('sharp');
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

  /** @type {number[]} */
  const seconds = [];
  /**
   * @template T
   * @param {() => Promise<T>} work
   */
  const timed = async (work) => {
    const start = performance.now();
    const result = await work();
    seconds.push((performance.now() - start) / 1000);
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
  return {
    matte: /** @type {Float32Array} */ (output.data),
    seconds,
    peakMB: Math.round(process.resourceUsage().maxRSS / 1024),
    afterMB: Math.round(process.memoryUsage.rss() / 2 ** 20),
  };
}
