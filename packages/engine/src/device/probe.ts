import { once } from 'node:events';
import { createRequire } from 'node:module';
import type { Input, Output } from '@gen3d/rpc';
import { Child, forkModule } from '@gen3d/rpc';
import type { Provider } from './adapter.js';
import type { Difference } from './difference.js';

export interface ParityRun {
  readonly difference: Difference;
  /** How long a run of all graphs of the bundle takes on the device, after the first run. */
  readonly ms: number;
}

/** The engine calls these functions of a probe process. */
export interface Probe {
  /** Opens a small network. Returns the paths of the shared libraries that the process has loaded. */
  open(request: { readonly provider: Provider }): { readonly libraries: readonly string[] };
  /** Runs the bundle in this folder on the provider and on the CPU. */
  compare(request: BundleRequest): ParityRun;
  time(request: BundleRequest): { readonly ms: number; readonly firstMs: number; readonly peakBytes: number };
}

interface BundleRequest {
  readonly provider: Provider;
  readonly directory: string;
}

/** The package's name finds the module from the built package and from the sources. */
const probeFile = () => createRequire(import.meta.url).resolve('@gen3d/engine/device-probe');

// A working driver takes a second. A bundle of a gigabyte takes a minute on a slow CPU, twice.
const timeoutsMs = { open: 60_000, compare: 600_000, time: 600_000 };

/**
 * Calls a function in a separate process. A driver may crash or hang, some versions of the runtime exit if a provider's
 * library is missing, and the name of an adapter is only in the log of a process that was started for it.
 *
 * Never rejects: a failure is a `problem`. The `log` is the stderr of the process: the messages of onnxruntime, Dawn and
 * the Vulkan loader.
 */
export async function probe<N extends keyof Probe>(
  name: N,
  request: Input<Probe, N>,
): Promise<({ readonly result: Output<Probe, N> } | { readonly problem: string }) & { readonly log: string }> {
  let log = '';
  let closed: Promise<unknown> | undefined;
  const child = new Child<Probe>('device probe', () => {
    const forked = forkModule(probeFile(), {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: { ...process.env, VK_LOADER_DEBUG: 'all' },
    });
    forked.stderr?.setEncoding('utf8').on('data', (text: string) => {
      // Keeps only the end, in case a driver logs endlessly.
      log = (log + text).slice(-1_000_000);
    });
    closed = once(forked, 'close').catch(() => {});
    return forked;
  });
  const outcome = await child.call(name, request, { timeoutMs: timeoutsMs[name] }).then(
    (result) => ({ result }),
    (error: Error) => ({ problem: error.message }),
  );
  // It does not exit by itself, because some drivers crash when they are unloaded.
  await child.kill();
  await closed;
  return { ...outcome, log };
}
