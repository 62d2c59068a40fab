import { availableParallelism, cpus } from 'node:os';
import type { DeviceReport } from '@gen3d/engine';
import type { Config } from '@gen3d/server';
import { table } from '../../terminal/format.js';
import { tick } from '../../terminal/terminal.js';

/** An execution provider of ONNX Runtime on this machine. */
export interface FoundDevice extends Omit<DeviceReport, 'checks'> {
  /** Whether `--device auto` uses it. */
  readonly takenByAuto: boolean;
  readonly tests: readonly SelfTest[];
}

/** Measured in the second of two runs of a bundle's networks on the device. The first one also compiles shaders. */
interface SelfTest {
  readonly bundle: string;
  readonly ms: number;
  /**
   * How far the output deviates from the CPU's, relative to the spread of the CPU's values. Null if the output is not
   * finite, absent for the CPU itself.
   */
  readonly difference?: number | null;
}

/** Names the CPU, and says how many cores this process may use. */
export const cpuName = () => `${cpus()[0]?.model.trim() || process.arch}, ${availableParallelism()} cores`;

/**
 * Tests all providers with the configured bundles, and caches the results for the server. Skips bundles that cannot be
 * loaded, which are reported separately.
 */
export async function findDevices(config: Config): Promise<FoundDevice[]> {
  const { accelerators, findBundle, inspectDevice, probe } = await import('@gen3d/engine');
  const { modelDirs } = await import('@gen3d/engine/bundles');
  const load = async (name: string) => {
    const bundle = await findBundle(name, modelDirs(config)).catch(() => undefined);
    return bundle?.manifest.kind === 'http' ? undefined : bundle;
  };
  const reconstruction = await load(config.bundle);
  const bundles = [reconstruction, await load(config.matte)].filter((bundle) => bundle !== undefined);
  const found: Omit<FoundDevice, 'takenByAuto'>[] = [];
  for (const provider of accelerators) {
    const { checks, ...report } = await inspectDevice(provider, bundles, { cacheDir: config.dataDir, again: true });
    const tests = checks.map(({ bundle, verdict }) => ({ bundle, ms: verdict.ms, difference: verdict.rms }));
    found.push({ ...report, tests });
  }
  // On the CPU, tests only the reconstruction bundle: the matting network would take seconds.
  const tests: SelfTest[] = [];
  if (reconstruction) {
    const probed = await probe('time', { provider: 'cpu', directory: reconstruction.directory });
    if ('result' in probed) tests.push({ bundle: reconstruction.manifest.name, ms: probed.result.ms });
  }
  found.push({ provider: 'cpu', adapter: { name: cpuName() }, tests });
  const automatic = found.find(({ problem }) => problem === undefined);
  return found.map((device) => ({ ...device, takenByAuto: device === automatic }));
}

const onlyOn: Readonly<Record<string, NodeJS.Platform>> = { coreml: 'darwin', dml: 'win32' };

/**
 * Formats the devices as a table, and lists the problems of unused devices below it. Omits devices of other systems,
 * unless one is configured.
 */
export function deviceTable(all: readonly FoundDevice[], configured: string, platform = process.platform): string {
  const devices = all.filter(({ provider }) => provider === configured || (onlyOn[provider] ?? platform) === platform);
  const rows = devices.map(({ provider, adapter, problem, tests, takenByAuto }) => [
    takenByAuto ? tick() : ' ',
    provider,
    problem === undefined ? 'works' : 'not used',
    adapter?.name ?? '-',
    tests.map(deviation).filter(Boolean).join(', ') || '-',
    tests.map(({ bundle, ms }) => `${bundle} ${Math.ceil(ms)} ms`).join(', ') || '-',
    takenByAuto ? 'used by auto' : '',
  ]);
  const problems = devices.flatMap(({ provider, problem }) =>
    problem === undefined ? [] : [`${provider}: ${problem}`],
  );
  const header = [' ', 'device', 'state', 'adapter', 'deviation from CPU', 'self-test'];
  return [...table([header, ...rows]).split('\n'), ...problems].map((line) => `  ${line}`).join('\n');
}

const deviation = ({ bundle, difference }: SelfTest): string =>
  difference === undefined ? '' : `${bundle} ${difference === null ? 'not finite' : difference.toExponential(0)}`;
