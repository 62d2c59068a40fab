import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import type { Provider } from './device.js';
import type { ParityRun } from './parity-run.js';

/** What is asked of a probe process; each does one thing. */
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
  /** What the process wrote to stderr: onnxruntime's, Dawn's and the Vulkan loader's own words. */
  readonly log: string;
}

/** By package name, so that it is found from the built package and from the sources alike. */
const probeFile = () => createRequire(import.meta.url).resolve('@gen3d/engine/device-probe');

// A driver that is there answers in a second. A bundle of a gigabyte takes a minute on a slow CPU, twice.
const limitMs = { open: 60_000, compare: 600_000, time: 600_000 };

/**
 * Asks in a process of its own: a driver may crash or hang, a session of a provider whose library is missing ends some
 * versions of the runtime, and what an adapter is called stands only in the log of a process that was started for it.
 *
 * Never rejects: whatever goes wrong is a `failed` reply that says what.
 */
export async function probe(request: Extract<ProbeRequest, { type: 'open' }>): Promise<ProbeResult<Reply<'opened'>>>;
export async function probe(
  request: Extract<ProbeRequest, { type: 'compare' }>,
): Promise<ProbeResult<Reply<'compared'>>>;
export async function probe(request: Extract<ProbeRequest, { type: 'time' }>): Promise<ProbeResult<Reply<'timed'>>>;
export async function probe(request: ProbeRequest): Promise<ProbeResult<ProbeReply>> {
  const child = fork(probeFile(), [], {
    execArgv: [],
    // JSON knows no Infinity.
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: { ...process.env, VK_LOADER_DEBUG: 'all' },
  });
  let log = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    // A driver that complains without end must not fill the memory.
    log = (log + text).slice(-1_000_000);
  });
  let reply: ProbeReply | undefined;
  child.on('message', (message: ProbeReply) => {
    reply = message;
  });
  const limit = limitMs[request.type];
  const hung = setTimeout(() => child.kill('SIGKILL'), limit);
  child.send(request, () => {});
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  clearTimeout(hung);
  // What was answered counts, however the process ended: some drivers crash when they are unloaded.
  if (reply) return { reply, log };
  const end =
    signal === 'SIGKILL'
      ? `It gave no answer within ${limit / 1000} s`
      : `The process that tried it crashed (${signal ?? `exit code ${code}`})`;
  return { reply: { type: 'failed', reason: end }, log };
}

type Reply<T extends ProbeReply['type']> = Extract<ProbeReply, { type: T }>;
