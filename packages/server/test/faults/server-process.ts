import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { type ApiResponse, callServer, smallModels, temporaryFolder } from '../kit.js';

export const firstApiKey = 'gen3d_0123456789012345678901234567890123456789';

/** A process of `gen3d worker` or `gen3d serve`. */
export interface WorkerProcess {
  readonly pid: number | undefined;
  /** Resolves with the matched part of the ready line. Rejects if the process exits first. */
  ready: Promise<string>;
  /** Resolves when the process has exited. */
  ended: Promise<unknown>;
  /** The last runner that logged its start and no crash. */
  runnerPid(): number | undefined;
  /** The process id of a runner, by its name in the leases. */
  pidOf(runner: string): number | undefined;
  /** Sends SIGKILL and resolves when the process has exited. Its children notice and exit. */
  kill(): Promise<void>;
  readonly killed: boolean;
  /** The lines that it logged as errors. */
  readonly errors: readonly string[];
  /** The number of log entries with this message. */
  timesLogged(message: string): number;
  /** The log entries with this message. */
  logged(message: string): readonly Readonly<Record<string, unknown>>[];
}

export interface ServerProcess extends WorkerProcess {
  /** Resolves with the server's URL. */
  ready: Promise<string>;
  call(method: string, path: string, body?: unknown, key?: string | null): Promise<ApiResponse>;
}

/** Sends SIGKILL to the process. Returns false if it does not exist. */
export function killPid(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  try {
    return process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    return false;
  }
}

/** The ids of the child processes of a process. Linux only. */
export function childrenOf(pid: number | undefined): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return []; // the process has exited
  }
}

/**
 * An environment in which the device of failing-device.cjs exists. Children get few variables, NODE_OPTIONS among them,
 * so the preloaded module sets those that it reads.
 */
export function withFailingDevice(variables: Record<string, string>): NodeJS.ProcessEnv {
  const preload = join(temporaryFolder(), 'device.cjs');
  const device = fileURLToPath(new URL('../failing-device.cjs', import.meta.url));
  writeFileSync(
    preload,
    `Object.assign(process.env, ${JSON.stringify(variables)}); require(${JSON.stringify(device)});`,
  );
  return { NODE_OPTIONS: `--require ${preload}` };
}

/** Starts the built server in a separate process, as `gen3d serve` does. It makes small models. `enter` prefixes the command. */
export function spawnServer(
  settings: Record<string, unknown>,
  env: NodeJS.ProcessEnv = {},
  enter: readonly string[] = [],
): ServerProcess {
  const all = { port: 0, rateLimit: 'off', bootstrapApiKey: firstApiKey, ...settings };
  const child = spawnScript('await serve(config);', all, /listening on (http:\S+)/, env, enter);
  const call: ServerProcess['call'] = async (method, path, body, key = firstApiKey) =>
    callServer(await child.ready, method, path, body, key);
  return Object.assign(child, { call });
}

/** Waits until a process is ready, and kills it after the test. */
export async function running<Process extends WorkerProcess>(process: Process): Promise<Process> {
  onTestFinished(() => process.kill());
  await process.ready;
  return process;
}

/** Starts the built worker in a separate process, as `gen3d worker` does. It makes small models. */
export const spawnWorker = (settings: Record<string, unknown>, env: NodeJS.ProcessEnv = {}): WorkerProcess =>
  spawnScript(`await worker(config); console.log('worker is ready');`, settings, /(worker is ready)/, env, []);

function spawnScript(
  statement: string,
  settings: Record<string, unknown>,
  isReady: RegExp,
  env: NodeJS.ProcessEnv,
  enter: readonly string[],
): WorkerProcess {
  const script = `
    import { loadConfig, serve, worker } from '@gen3d/server';
    const config = loadConfig({}, {}, ${JSON.stringify({ ...smallModels, logFormat: 'json', ...settings })});
    ${statement}`;
  const [command = '', ...args] = [...enter, process.execPath, '--input-type=module', '-e', script];
  const child = spawn(command, args, {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit');
  let killed = false;
  let runnerPid: number | undefined;
  const pids = new Map<string, number>();
  const errors: string[] = [];
  const messages = new Map<string, Record<string, unknown>[]>();
  createInterface({ input: child.stderr }).on('line', (line) => {
    // For people: not a log entry.
    if (line.startsWith('To open the dashboard')) return;
    const entry = line.startsWith('{"') ? JSON.parse(line) : { level: 60 };
    messages.set(entry.msg, [...(messages.get(entry.msg) ?? []), entry]);
    if (entry.msg === 'runner is ready') {
      runnerPid = entry.pid;
      pids.set(entry.runner, entry.pid);
    }
    if (entry.msg === 'runner crashed') runnerPid = undefined;
    if (entry.level >= 50) errors.push(line);
  });
  const ready = new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const word = isReady.exec(line)?.[1];
      if (word) resolve(word);
    });
    ended.then(() => reject(new Error(`The process exited before it was ready: ${errors.join('\n')}`)));
  });
  // Tests that kill the process during its start do not await this.
  ready.catch(() => {});
  return {
    pid: child.pid,
    ready,
    ended,
    runnerPid: () => runnerPid,
    pidOf: (runner) => pids.get(runner),
    timesLogged: (message) => messages.get(message)?.length ?? 0,
    logged: (message) => messages.get(message) ?? [],
    errors,
    get killed() {
      return killed;
    },
    async kill() {
      killed = true;
      child.kill('SIGKILL');
      await ended;
    },
  };
}
