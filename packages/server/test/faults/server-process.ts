import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Answer, callServer } from '../kit.js';

export const firstApiKey = 'gen3d_0123456789012345678901234567890123456789';

export interface ServerProcess {
  /** Resolves with the address when it accepts jobs, and rejects when the process ends before that. */
  ready: Promise<string>;
  /** The runner that was last seen ready and has not been seen to end. */
  runnerPid(): number | undefined;
  /** The process of a runner that has been ready, by the name it has in the leases. */
  pidOf(runner: string): number | undefined;
  call(method: string, path: string, body?: unknown, key?: string | null): Promise<Answer>;
  /** `kill -9`; resolves when the process is gone. Its runners notice and leave by themselves. */
  kill(): Promise<void>;
  readonly killed: boolean;
  /** What it has logged as errors. */
  readonly errors: readonly string[];
  /** Whether it has logged this message. */
  hasLogged(message: string): boolean;
}

/** The built server in a process of its own, as `gen3d serve` runs it. `enter` is put before its command. */
export function spawnServer(
  settings: Record<string, unknown>,
  env: NodeJS.ProcessEnv = {},
  enter: readonly string[] = [],
): ServerProcess {
  const all = { port: 0, rateLimit: 'off', logFormat: 'json', bootstrapApiKey: firstApiKey, ...settings };
  const script = `
    import { loadConfig, serve } from '@gen3d/server';
    await serve(loadConfig({}, {}, ${JSON.stringify(all)}));`;
  const [command = '', ...args] = [...enter, process.execPath, '--input-type=module', '-e', script];
  const child: ChildProcess = spawn(command, args, {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  let killed = false;
  let runnerPid: number | undefined;
  const pids = new Map<string, number>();
  const errors: string[] = [];
  const messages = new Set<string>();
  createInterface({ input: child.stderr! }).on('line', (line) => {
    // For a person, not for the log, as is the key that a first start makes.
    if (line.startsWith('The dashboard, as its operator')) return;
    const entry = line.startsWith('{') ? JSON.parse(line) : { level: 60 };
    messages.add(entry.msg);
    if (entry.msg === 'runner is ready') {
      runnerPid = entry.pid;
      pids.set(entry.runner, entry.pid);
    }
    if (entry.msg === 'runner crashed') runnerPid = undefined;
    if (entry.level >= 50) errors.push(line);
  });
  const ready = new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout! }).on('line', (line) => {
      const url = /listening on (http:\S+)/.exec(line)?.[1];
      if (url) resolve(url);
    });
    exited.then(() => reject(new Error(`the server ended before it listened: ${errors.join('\n')}`)));
  });
  // Who kills a server that is still starting need not ask for its address.
  ready.catch(() => {});
  return {
    ready,
    runnerPid: () => runnerPid,
    pidOf: (runner) => pids.get(runner),
    hasLogged: (message) => messages.has(message),
    call: async (method, path, body, key = firstApiKey) => callServer(await ready, method, path, body, key),
    errors,
    get killed() {
      return killed;
    },
    async kill() {
      killed = true;
      child.kill('SIGKILL');
      await exited;
    },
  };
}
