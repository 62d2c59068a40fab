import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import type { Provider } from './adapter.js';
import type { ParityRun } from './parity-run.js';

/** A request to a probe process, which handles one and exits. */
export type ProbeRequest =
  | { readonly type: 'open'; readonly provider: Provider }
  /** Runs the bundle in this folder on the provider and on the CPU. */
  | { readonly type: 'compare'; readonly provider: Provider; readonly directory: string }
  | { readonly type: 'time'; readonly provider: Provider; readonly directory: string };

export type ProbeReply =
  | { readonly type: 'opened'; readonly libraries: readonly string[] }
  | ({ readonly type: 'compared' } & ParityRun)
  | { readonly type: 'timed'; readonly ms: number; readonly firstMs: number; readonly peakBytes: number }
  | { readonly type: 'failed'; readonly reason: string };

export interface ProbeResult<R extends ProbeReply> {
  readonly reply: R | Extract<ProbeReply, { type: 'failed' }>;
  /** The stderr of the process: the logs of onnxruntime, Dawn and the Vulkan loader. */
  readonly log: string;
}

/** By package name, so that it is found from the built package and from the sources. */
const probeFile = () => createRequire(import.meta.url).resolve('@gen3d/engine/device-probe');

// A working driver takes a second. A bundle of a gigabyte takes a minute on a slow CPU, twice.
const timeoutsMs = { open: 60_000, compare: 600_000, time: 600_000 };

/**
 * Handles a request in a separate process. A driver may crash or hang, some versions of the runtime exit if a
 * provider's library is missing, and the name of an adapter is only in the log of a process that was started for it.
 *
 * Never rejects: a failure is a `failed` reply with the reason.
 */
export async function probe(request: Extract<ProbeRequest, { type: 'open' }>): Promise<ProbeResult<Reply<'opened'>>>;
export async function probe(
  request: Extract<ProbeRequest, { type: 'compare' }>,
): Promise<ProbeResult<Reply<'compared'>>>;
export async function probe(request: Extract<ProbeRequest, { type: 'time' }>): Promise<ProbeResult<Reply<'timed'>>>;
export async function probe(request: ProbeRequest): Promise<ProbeResult<ProbeReply>> {
  const child = fork(probeFile(), [], {
    execArgv: [],
    // JSON has no Infinity.
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: { ...process.env, VK_LOADER_DEBUG: 'all' },
  });
  let log = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    // Keeps only the end, in case a driver logs endlessly.
    log = (log + text).slice(-1_000_000);
  });
  let reply: ProbeReply | undefined;
  child.on('message', (message: ProbeReply) => {
    reply = message;
  });
  const timeoutMs = timeoutsMs[request.type];
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  child.send(request, () => {});
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  clearTimeout(timer);
  // A reply counts even if the process crashed afterwards: some drivers crash when they are unloaded.
  if (reply) return { reply, log };
  const reason =
    signal === 'SIGKILL'
      ? `It did not respond within ${timeoutMs / 1000} s`
      : `The process that tried it crashed (${signal ?? `exit code ${code}`})`;
  return { reply: { type: 'failed', reason }, log };
}

type Reply<T extends ProbeReply['type']> = Extract<ProbeReply, { type: T }>;
