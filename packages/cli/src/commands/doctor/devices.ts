import { availableParallelism, cpus } from 'node:os';
import type { DeviceReport } from '@gen3d/engine';
import type { Config } from '@gen3d/server';
import { table } from '../../terminal/format.js';
import { tick } from '../../terminal/terminal.js';

/** A provider of onnxruntime on this machine, as `doctor` shows it. */
export interface FoundDevice extends Omit<DeviceReport, 'checks'> {
  /** Whether `--device auto` would run on it. */
  readonly takenByAuto: boolean;
  readonly tests: readonly SelfTest[];
}

/** One bundle, its graphs run twice on the device: the second run's time, and how far its answer is from the CPU's. */
interface SelfTest {
  readonly bundle: string;
  readonly ms: number;
  /** Of the spread of the CPU's values; null: it gave no numbers. Absent for the CPU itself. */
  readonly difference?: number | null;
}

/**
 * Tries every provider with the bundles in use, and keeps what it finds for the server. A bundle that cannot be loaded is
 * left out: that is another finding.
 */
export async function findDevices(config: Config): Promise<FoundDevice[]> {
  const { accelerators, findBundle, inspectDevice, probe } = await import('@gen3d/engine');
  const { modelDirs } = await import('@gen3d/server');
  const load = (name: string) => findBundle(name, modelDirs(config)).catch(() => undefined);
  const reconstruction = await load(config.bundle);
  const inUse = [reconstruction, await load(config.matte)].filter((bundle) => bundle !== undefined);
  const found: Omit<FoundDevice, 'takenByAuto'>[] = [];
  for (const provider of accelerators) {
    const { checks, ...report } = await inspectDevice(provider, inUse, { cacheDir: config.dataDir, again: true });
    const tests = checks.map(({ bundle, verdict }) => ({ bundle, ms: verdict.ms, difference: verdict.rms }));
    found.push({ ...report, tests });
  }
  // The matting network alone takes seconds on a CPU; what the reconstruction takes says how the machine does.
  const tests: SelfTest[] = [];
  if (reconstruction) {
    const { reply } = await probe({ type: 'time', provider: 'cpu', directory: reconstruction.directory });
    if (reply.type === 'timed') tests.push({ bundle: reconstruction.manifest.name, ms: reply.ms });
  }
  const name = `${cpus()[0]?.model.trim() || process.arch}, ${availableParallelism()} cores`;
  found.push({ provider: 'cpu', adapter: { name }, tests });
  const taken = found.find(({ problem }) => problem === undefined);
  return found.map((device) => ({ ...device, takenByAuto: device === taken }));
}

/** The devices as a table; below it, why those are not used that are not. */
export function deviceTable(devices: readonly FoundDevice[]): string {
  const rows = devices.map(({ provider, adapter, problem, tests, takenByAuto }) => [
    takenByAuto ? tick() : ' ',
    provider,
    problem === undefined ? 'works' : 'not used',
    adapter?.name ?? '-',
    tests.map(parity).filter(Boolean).join(', ') || '-',
    tests.map(({ bundle, ms }) => `${bundle} ${Math.ceil(ms)} ms`).join(', ') || '-',
    takenByAuto ? 'taken by auto' : '',
  ]);
  const problems = devices.flatMap(({ provider, problem }) =>
    problem === undefined ? [] : [`${provider}: ${problem}`],
  );
  const head = [' ', 'device', 'state', 'adapter', 'off the CPU by', 'self-test'];
  return [...table([head, ...rows]).split('\n'), ...problems].map((line) => `  ${line}`).join('\n');
}

const parity = ({ bundle, difference }: SelfTest): string =>
  difference === undefined ? '' : `${bundle} ${difference === null ? 'no numbers' : difference.toExponential(0)}`;
