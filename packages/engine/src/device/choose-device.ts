import { createHash } from 'node:crypto';
import { BundleError } from '../base/errors.js';
import type { Bundle } from '../bundle/load-bundle.js';
import type { Adapter } from './adapter.js';
import { keepVerdict, keptVerdict, type Verdict } from './check-cache.js';
import { type Accelerator, accelerators, type Device, type Provider } from './device.js';
import { isTolerable, tolerance } from './difference.js';
import { findAdapter, runtimeVersion } from './find-adapter.js';
import { probe } from './probe.js';

export interface InspectOptions {
  /** Folder in which verdicts are kept, if they are to be. */
  readonly cacheDir?: string | undefined;
  /** Compares again although there is a verdict. */
  readonly again?: boolean;
  /** Takes an adapter that computes on the CPU, which is right for tests alone. */
  readonly allowSoftware?: boolean;
}

/** What comparing one bundle on a device with the CPU found. */
export interface BundleCheck {
  readonly bundle: string;
  readonly verdict: Verdict;
}

/** What is known of one provider on this machine. */
export interface DeviceReport {
  readonly provider: Provider;
  readonly adapter?: Adapter;
  /** Why it is not used; absent if it can be. */
  readonly problem?: string;
  readonly checks: readonly BundleCheck[];
}

export interface ChosenDevice {
  readonly provider: Provider;
  readonly adapter?: Adapter;
  /** What `auto` looked at before, each with its problem. */
  readonly passedOver: readonly DeviceReport[];
}

/**
 * Finds where to run these bundles: the named provider, or for `auto` the first accelerator that is there, is no imitation,
 * and answers what the CPU answers; else the CPU.
 *
 * @throws {BundleError} if a provider that was named cannot be used, saying what is missing
 */
export async function chooseDevice(
  device: Device,
  bundles: readonly Bundle[],
  options: InspectOptions = {},
): Promise<ChosenDevice> {
  if (device === 'cpu') return { provider: 'cpu', passedOver: [] };
  const passedOver: DeviceReport[] = [];
  for (const provider of device === 'auto' ? accelerators : [device]) {
    const report = await inspectDevice(provider, bundles, options);
    if (report.problem === undefined) {
      return { provider, ...(report.adapter && { adapter: report.adapter }), passedOver };
    }
    passedOver.push(report);
  }
  if (device !== 'auto') {
    throw new BundleError(
      `The device ${device} cannot be used: ${passedOver[0]!.problem}. \`--device auto\` takes what works`,
    );
  }
  return { provider: 'cpu', passedOver };
}

/** Looks for one provider, and compares these bundles on it with the CPU, in processes of their own. */
export async function inspectDevice(
  provider: Accelerator,
  bundles: readonly Bundle[],
  { cacheDir, again = false, allowSoftware = false }: InspectOptions = {},
): Promise<DeviceReport> {
  const found = await findAdapter(provider, { allowSoftware });
  if ('problem' in found) return { provider, ...found, checks: [] };
  const { adapter } = found;
  const checks: BundleCheck[] = [];
  for (const bundle of bundles) {
    const { name } = bundle.manifest;
    const key = checkKey(provider, adapter, bundle);
    let verdict = cacheDir && !again ? await keptVerdict(cacheDir, key) : undefined;
    if (!verdict) {
      const { reply } = await probe({ type: 'compare', provider, directory: bundle.directory });
      // Not kept: that a process was killed or a file could not be read says nothing about the next time.
      if (reply.type === 'failed')
        return { provider, adapter, checks, problem: `${name} does not run on it. ${reply.reason}` };
      const { difference, ms, firstMs, cpuMs } = reply;
      verdict = { ...written(difference), ms, firstMs, cpuMs, checkedAt: new Date().toISOString() };
      if (cacheDir) await keepVerdict(cacheDir, key, verdict);
    }
    checks.push({ bundle: name, verdict });
    const { rms, largest } = verdict;
    if (!isTolerable({ rms: rms ?? Infinity, largest: largest ?? Infinity })) {
      const problem = `${name} gives other numbers on it than on the CPU: they differ by ${percent(rms)} of their spread on average and ${percent(largest)} of their range at most; ${percent(tolerance.rms)} and ${percent(tolerance.largest)} are allowed`;
      return { provider, adapter, checks, problem };
    }
  }
  return { provider, adapter, checks };
}

/** Another file, driver or runtime may give other numbers. */
function checkKey(provider: Provider, { name, driver = '' }: Adapter, { manifest }: Bundle): string {
  const files = createHash('sha256');
  for (const { name, sha256 } of manifest.files) files.update(`${name} ${sha256}\n`);
  const bundle = `${manifest.name} ${files.digest('hex').slice(0, 16)}`;
  return [provider, name, driver, `onnxruntime ${runtimeVersion}`, bundle].join(' | ');
}

const written = ({ rms, largest }: { rms: number; largest: number }) => ({
  rms: finite(rms),
  largest: finite(largest),
});
const finite = (value: number) => (Number.isFinite(value) ? value : null);
const percent = (share: number | null) =>
  share === null ? 'infinitely many times' : `${Number((100 * share).toPrecision(2))} %`;
