// Compares each device of this machine with the CPU: the time and memory that a bundle's networks take, and how far
// their outputs are from the CPU's. Prints a section of docs/benchmarks.md. Needs a build. Exits with 1 if no
// accelerator can be used.
//
//   node scripts/check-device.mjs [BUNDLE]...      names or folders; default: isnet and gen3d-base
//   node scripts/check-device.mjs --software ...   also GPUs imitated in software, to try the script without a GPU
import { execFile } from 'node:child_process';
import { availableParallelism, cpus, release } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { accelerators, findBundle, inspectDevice, isPath, loadBundle, probe } from '../packages/engine/dist/index.js';
import { row } from './bench/figures.mjs';
import { Failed, main } from './processes.mjs';
import { root } from './repository.mjs';

const mebibyte = 1024 ** 2;

await main(async () => {
  const { values, positionals } = parseArgs({ options: { software: { type: 'boolean' } }, allowPositionals: true });
  const options = { allowSoftware: values.software === true };
  const names = positionals.length > 0 ? positionals : ['isnet', 'gen3d-base'];
  const bundles = await Promise.all(
    names.map((name) => (isPath(name) ? loadBundle(name) : findBundle(name, [join(root, 'models')]))),
  );

  const today = new Date().toISOString().slice(0, 10);
  const cores = availableParallelism();
  console.log('## Devices\n');
  console.log(
    `${cpus()[0]?.model.trim()}, ${cores} cores, Node ${process.version}, ${process.platform} ${release()}, ${today}\n`,
  );
  /** @type {Array<'cpu' | (typeof accelerators)[number]>} */
  const providers = ['cpu'];
  for (const provider of accelerators) {
    console.error(`Trying ${provider} ...`);
    const { adapter, problem } = await inspectDevice(provider, [], options);
    if (problem === undefined) providers.push(provider);
    console.log(`- ${provider}: ${problem ?? [adapter?.name, adapter?.driver].filter(Boolean).join(', ')}`);
  }
  console.log(
    '\nTimes are for one run of all graphs of the bundle (the decoder: 4096 points); the first run also compiles and\n' +
      'allocates. Errors are the maximum over all outputs: the RMS error relative to the standard deviation of the\n' +
      "CPU's output, the maximum error relative to its range.\n",
  );
  row(
    ...['bundle', 'device', 'run', 'first run', "of the CPU's time"],
    ...['RMS error', 'maximum error', 'peak host memory', 'GPU memory'],
  );
  row('---', '---', ...Array(7).fill('--:'));
  /** @type {string[]} */
  const problems = [];
  for (const { directory, manifest } of bundles) {
    let cpuMs = Number.NaN;
    for (const provider of providers) {
      console.error(`Running ${manifest.name} on ${provider}, which may take minutes ...`);
      const gpuMemory = watchGpuMemory();
      const timed = await probe('time', { provider, directory });
      const gpuBytes = await gpuMemory.stop();
      if ('problem' in timed) {
        problems.push(`${manifest.name} on ${provider}: ${timed.problem}`);
        row(manifest.name, provider, timed.problem.split('\n')[0] ?? '');
        continue;
      }
      const time = timed.result;
      if (provider === 'cpu') cpuMs = time.ms;
      const errors = provider === 'cpu' ? ['', ''] : await errorsOf(provider, directory);
      row(
        ...[manifest.name, provider, milliseconds(time.ms), milliseconds(time.firstMs)],
        ...[(time.ms / cpuMs).toFixed(2), ...errors, mebibytes(time.peakBytes)],
        provider === 'cpu' || gpuBytes === undefined ? '' : mebibytes(gpuBytes),
      );
    }
  }
  if (providers.length === 1) throw new Failed('No accelerator of this machine can be used. The reasons are above.');
  if (problems.length > 0) throw new Failed(problems.join('\n'));
});

/**
 * @param {(typeof accelerators)[number]} provider
 * @param {string} directory
 */
async function errorsOf(provider, directory) {
  const probed = await probe('compare', { provider, directory });
  if ('problem' in probed) return [probed.problem, probed.problem];
  const { rms, largest } = probed.result.difference;
  return [rms, largest].map((error) => error.toExponential(1));
}

/** @param {number} value */
function milliseconds(value) {
  return value < 100 ? `${value.toFixed(1)} ms` : `${Math.round(value)} ms`;
}

/** @param {number} bytes */
function mebibytes(bytes) {
  return `${Math.round(bytes / mebibyte)} MiB`;
}

/**
 * Samples the memory in use by `nvidia-smi`.
 *
 * @returns `stop` resolves with the peak in bytes above the memory in use at the start; undefined without nvidia-smi
 */
function watchGpuMemory() {
  const used = () =>
    promisify(execFile)('nvidia-smi', ['--query-gpu=memory.used', '--format=csv,noheader,nounits']).then(
      ({ stdout }) => Number.parseInt(stdout, 10) * mebibyte,
      () => undefined,
    );
  let watching = true;
  const watched = (async () => {
    const before = await used();
    if (before === undefined) return undefined;
    let peak = before;
    while (watching) {
      peak = Math.max(peak, (await used()) ?? 0);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return peak - before;
  })();
  return {
    stop: () => {
      watching = false;
      return watched;
    },
  };
}
