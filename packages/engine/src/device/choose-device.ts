import { createHash, randomBytes } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { BundleError } from '../base/errors.js';
import type { Bundle } from '../bundle/load-bundle.js';
import { replaceFile } from '../files.js';
import type { Adapter } from './adapter.js';
import { type Accelerator, accelerators, type Device, type Provider } from './adapter.js';
import { isTolerable, tolerance } from './difference.js';
import { findAdapter, runtimeVersion } from './find-adapter.js';
import { probe } from './probe.js';

export interface InspectOptions {
  /** The folder in which verdicts are saved. Default: they are not saved. */
  readonly cacheDir?: string | undefined;
  /** Compares again even if there is a verdict. */
  readonly again?: boolean;
  /** Accepts an adapter that runs on the CPU; for tests. */
  readonly allowSoftware?: boolean;
}

/** The verdict about one bundle on a device. */
export interface BundleCheck {
  readonly bundle: string;
  readonly verdict: Verdict;
}

/** Reports whether one provider works on this machine. */
export interface DeviceReport {
  readonly provider: Provider;
  readonly adapter?: Adapter;
  /** Why the provider cannot be used. Absent if it can. */
  readonly problem?: string;
  readonly checks: readonly BundleCheck[];
}

export interface ChosenDevice {
  readonly provider: Provider;
  readonly adapter?: Adapter;
  /** The providers that `auto` rejected, each with its problem. */
  readonly rejected: readonly DeviceReport[];
  /** Approximate seconds per photo, if a bundle of the kind `steps` runs on the CPU. */
  readonly expectedSeconds?: number;
}

/**
 * Chooses the device for these bundles: the named provider, or for `auto` the first accelerator that is present, is not
 * emulated and gives the CPU's results; otherwise the CPU.
 *
 * @throws {BundleError} if a named provider cannot be used, saying what is missing
 */
export async function chooseDevice(
  device: Device,
  bundles: readonly Bundle[],
  options: InspectOptions = {},
): Promise<ChosenDevice> {
  if (device === 'cpu') return { provider: 'cpu', rejected: [] };
  const rejected: DeviceReport[] = [];
  for (const provider of device === 'auto' ? accelerators : [device]) {
    const report = await inspectDevice(provider, bundles, options);
    if (report.problem === undefined) {
      return { provider, ...(report.adapter && { adapter: report.adapter }), rejected };
    }
    rejected.push(report);
  }
  if (device !== 'auto') {
    throw new BundleError(
      `The device ${device} cannot be used: ${rejected[0]!.problem}. \`--device auto\` chooses one that works`,
    );
  }
  return { provider: 'cpu', rejected };
}

/** Checks for a provider and compares these bundles on it with the CPU, each in its own process. */
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
    let verdict = cacheDir && !again ? await readVerdict(cacheDir, key) : undefined;
    if (!verdict) {
      const probed = await probe('compare', { provider, directory: bundle.directory });
      // This is not saved, because a killed process or an unreadable file says nothing about the next start.
      if ('problem' in probed)
        return { provider, adapter, checks, problem: `${name} does not run on it: ${probed.problem}` };
      const { difference, ms } = probed.result;
      const figures = { rms: finite(difference.rms), largest: finite(difference.largest), ms };
      verdict = { ...figures, checkedAt: new Date().toISOString() };
      if (cacheDir) await saveVerdict(cacheDir, key, verdict);
    }
    checks.push({ bundle: name, verdict });
    const { rms, largest } = verdict;
    if (!isTolerable({ rms: rms ?? Infinity, largest: largest ?? Infinity })) {
      const problem = `${name} computes wrong results on it (average error ${percent(rms)}, limit ${percent(tolerance.rms)}; largest error ${percent(largest)}, limit ${percent(tolerance.largest)}), so it is not used`;
      return { provider, adapter, checks, problem };
    }
  }
  return { provider, adapter, checks };
}

/** Includes everything that can change the results: files, driver and runtime. */
function checkKey(provider: Provider, { name, driver = '' }: Adapter, { manifest }: Bundle): string {
  const files = createHash('sha256');
  for (const { name, sha256 } of manifest.files) files.update(`${name} ${sha256}\n`);
  const bundle = `${manifest.name} ${files.digest('hex').slice(0, 16)}`;
  return [provider, name, driver, `onnxruntime ${runtimeVersion}`, bundle].join(' | ');
}

const finite = (value: number) => (Number.isFinite(value) ? value : null);
const percent = (share: number | null) =>
  share === null ? 'infinitely many times' : `${Number((100 * share).toPrecision(2))} %`;

/** null stands for Infinity, which JSON cannot express. */
const Figure = z.number().nullable();

/** The result of comparing a bundle's outputs on a device with those on the CPU. */
const Verdict = z.object({ rms: Figure, largest: Figure, ms: z.number(), checkedAt: z.string() });
const Verdicts = z.record(z.string(), Verdict);

export type Verdict = z.infer<typeof Verdict>;

const fileIn = (folder: string) => join(folder, 'device-checks.json');

async function read(folder: string): Promise<Record<string, Verdict>> {
  const text = await readFile(fileIn(folder), 'utf8').catch(() => '{}');
  try {
    return Verdicts.parse(JSON.parse(text));
  } catch {
    // A damaged file is ignored: every verdict can be determined again.
    return {};
  }
}

/** Reads the verdict for `key`. Undefined if there is none that can be read. */
export const readVerdict = async (folder: string, key: string): Promise<Verdict | undefined> =>
  (await read(folder))[key];

/** Saves a verdict. If the folder is not writable, the next start checks again. */
export async function saveVerdict(folder: string, key: string, verdict: Verdict): Promise<void> {
  const draft = `${fileIn(folder)}.${randomBytes(6).toString('hex')}`;
  try {
    await writeFile(draft, `${JSON.stringify({ ...(await read(folder)), [key]: verdict }, null, 2)}\n`);
    await replaceFile(draft, fileIn(folder));
  } catch {
    await rm(draft, { force: true }).catch(() => {});
  }
}
