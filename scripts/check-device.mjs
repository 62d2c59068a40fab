// Every device of this machine and the CPU, side by side: how long the networks of a bundle take, how much memory, and how
// far their answers are from the CPU's. Prints a section of docs/benchmarks.md. Needs a build.
//
//   node scripts/check-device.mjs [BUNDLE]...      names or folders; default: isnet and gen3d-base
//   node scripts/check-device.mjs --software ...   also adapters that imitate a GPU, to try the script without one
import { execFile } from 'node:child_process';
import { availableParallelism, cpus, release } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { accelerators, findBundle, inspectDevice, isPath, loadBundle, probe } from '../packages/engine/dist/index.js';
import { row } from './bench/figures.mjs';
import { main } from './processes.mjs';
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
  console.log('## Devices\n');
  console.log(
    `${cpus()[0]?.model.trim()}, ${availableParallelism()} cores, Node ${process.version}, ${process.platform} ${release()}, ${today}\n`,
  );
  const devices = [{ provider: 'cpu' }];
  for (const provider of accelerators) {
    const { adapter, problem } = await inspectDevice(provider, [], options);
    if (problem === undefined) devices.push({ provider, adapter });
    console.log(`- ${provider}: ${problem ?? [adapter.name, adapter.driver].filter(Boolean).join(', ')}`);
  }
  console.log(
    '\nOne run of every graph of the bundle (the decoder: 4096 points), after a first one that compiles and takes memory.',
  );
  console.log(
    'The errors are the largest of any output: root mean square by the spread of the CPU, largest by its range.\n',
  );
  row(
    'bundle',
    'device',
    'run',
    'first run',
    "of the CPU's time",
    'RMS error',
    'largest error',
    'peak host memory',
    'GPU memory',
  );
  row('---', '---', ...Array(7).fill('--:'));
  for (const { directory, manifest } of bundles) {
    let cpuMs;
    for (const { provider } of devices) {
      const watch = watchGpuMemory();
      const { reply: time } = await probe({ type: 'time', provider, directory });
      const gpuBytes = await watch.stop();
      if (time.type === 'failed') {
        row(manifest.name, provider, time.reason.split('\n')[0]);
        continue;
      }
      cpuMs ??= time.ms;
      const { reply: parity } = provider === 'cpu' ? {} : await probe({ type: 'compare', provider, directory });
      const figure = (name) => parity?.difference?.[name].toExponential(1) ?? parity?.reason ?? '';
      row(
        manifest.name,
        provider,
        ms(time.ms),
        ms(time.firstMs),
        `${(time.ms / cpuMs).toFixed(2)}`,
        figure('rms'),
        figure('largest'),
        `${Math.round(time.peakBytes / mebibyte)} MiB`,
        provider === 'cpu' || gpuBytes === undefined ? '' : `${Math.round(gpuBytes / mebibyte)} MiB`,
      );
    }
  }
});

function ms(value) {
  return value < 100 ? `${value.toFixed(1)} ms` : `${Math.round(value)} ms`;
}

/** The most memory that NVIDIA's driver says is in use beyond what is at the start; undefined without its program. */
function watchGpuMemory() {
  const used = () =>
    promisify(execFile)('nvidia-smi', ['--query-gpu=memory.used', '--format=csv,noheader,nounits']).then(
      ({ stdout }) => Number.parseInt(stdout, 10) * mebibyte,
      () => undefined,
    );
  let watching = true;
  const watched = (async () => {
    const before = await used();
    let most = before;
    while (watching && before !== undefined) {
      most = Math.max(most, (await used()) ?? 0);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return before === undefined ? undefined : most - before;
  })();
  return {
    stop: () => {
      watching = false;
      return watched;
    },
  };
}
