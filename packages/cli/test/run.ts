import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { png } from '../../engine/src/photo/png.fixture.js';
import { run as runHere } from '../src/program.js';

export const bin = fileURLToPath(new URL('../bin/gen3d.js', import.meta.url));

export interface Result {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface RunOptions {
  readonly env?: Record<string, string>;
  readonly input?: Uint8Array | string | undefined;
}

/** A temporary folder for the photos, profile and data of a test file. */
export function testFolder() {
  let folder = '';
  const children: ChildProcess[] = [];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gen3d-cli-'));
  });
  afterAll(async () => {
    // After a timeout, a command may still be running in the folder, and would affect the tests of the next file.
    await running;
    for (const child of children) if (child.exitCode === null) child.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });

  const path = (...names: string[]) => join(folder, ...names);
  /** Starts a program, `gen3d` unless another one is given. */
  const start = (args: readonly string[], env: Record<string, string> = {}, program?: string) => {
    const command = program === undefined ? [bin, ...args] : args;
    const child = spawn(program ?? process.execPath, command, { cwd: folder, env: { ...environment(), ...env } });
    children.push(child);
    return child;
  };
  /** Starts a program that `stop` ends with a signal, by default as Ctrl-C does. */
  const begin = (...program: Parameters<typeof start>) => {
    const child = start(...program);
    const ended = result(child);
    const stop = (signal: NodeJS.Signals = 'SIGINT') => {
      child.kill(signal);
      return ended;
    };
    return { child, ended, stop };
  };
  const environment = () => ({
    PATH: process.env.PATH,
    HOME: folder,
    GEN3D_CONFIG_DIR: path('config'),
    GEN3D_DATA_DIR: path('data'),
    // The smallest models: a job takes a second of CPU time, not five.
    GEN3D_RESOLUTION: '32',
    GEN3D_TEXTURE_SIZE: '256',
  });

  /** Runs `gen3d` in this process until it is done. `spawned` runs a command line in a process of its own. */
  const gen3d = (args: readonly string[], { env, input }: RunOptions = {}): Promise<Result> =>
    inThisProcess(args, { cwd: folder, env: { ...environment(), ...env }, input });

  const spawned = async (args: readonly string[], { env, input }: RunOptions = {}): Promise<Result> => {
    const child = start(args, env);
    child.stdin.end(input);
    return result(child);
  };

  /** Runs another program until it exits, with the same environment. */
  const run = async (program: string, args: readonly string[], env: Record<string, string> = {}): Promise<Result> => {
    const child = start(args, env, program);
    child.stdin.end();
    return result(child);
  };

  /** Starts `gen3d serve` on a free port. Resolves with its URL when it is ready. */
  const serve = async (...args: string[]): Promise<{ url: string; child: ChildProcess; ended: Promise<Result> }> => {
    const child = start(['serve', '--port', '0', ...args]);
    const ended = result(child);
    const url = await new Promise<string>((resolve, reject) => {
      createInterface(child.stdout).on('line', (line) => {
        const [, found] = /listening on (\S+)$/.exec(line) ?? [];
        if (found) resolve(found);
      });
      ended.then(({ stderr }) => reject(new Error(`gen3d serve exited: ${stderr}`)), reject);
    });
    return { url, child, ended };
  };

  return { path, start, begin, gen3d, spawned, run, serve };
}

/** The run in progress. Runs take turns, because a command reads the environment and the streams of its process. */
let running: Promise<unknown> = Promise.resolve();

/**
 * Runs a command line as its own process would: with these variables and no others, in this folder, without a terminal.
 * A variable that a module sets while it is loaded, as the engine does, stays, because the module stays loaded as well.
 */
function inThisProcess(
  args: readonly string[],
  { cwd, env, input }: { cwd: string; env: Record<string, string | undefined>; input: RunOptions['input'] },
): Promise<Result> {
  const result = running.then(async () => {
    const before = {
      cwd: process.cwd(),
      env: { ...process.env },
      stdin: Object.getOwnPropertyDescriptor(process, 'stdin')!,
    };
    const output = { stdout: '', stderr: '' };
    const streams = (['stdout', 'stderr'] as const).map((name) => {
      const { write, isTTY } = process[name];
      const capture = (chunk: Uint8Array | string, ...rest: unknown[]) => {
        output[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
        const written = rest.find((argument) => typeof argument === 'function');
        if (written) process.nextTick(written);
        return true;
      };
      Object.assign(process[name], { write: capture, isTTY: false });
      return () => Object.assign(process[name], { write, isTTY });
    });
    const stdin = Readable.from(input === undefined ? [] : [Buffer.from(input)]);
    Object.defineProperty(process, 'stdin', { configurable: true, value: stdin });
    for (const name of Object.keys(before.env)) delete process.env[name];
    Object.assign(process.env, env);
    process.chdir(cwd);
    try {
      return { code: await runHere(args), ...output };
    } finally {
      process.chdir(before.cwd);
      for (const name of Object.keys(env)) delete process.env[name];
      Object.assign(process.env, before.env);
      Object.defineProperty(process, 'stdin', before.stdin);
      for (const restore of streams) restore();
    }
  });
  running = result.catch(() => {});
  return result;
}

/** A web server on loopback for the duration of a test, with the variables that make it the server of a command. */
export async function site(listener?: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { server, url, env: { GEN3D_BASE_URL: url, GEN3D_API_KEY: 'gen3d_key' } };
}

/** Collects the output of a process until it exits. */
export function result(child: ChildProcess): Promise<Result> {
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    stderr += chunk;
  });
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr })));
}

/** Resolves with the output so far as soon as it matches. */
export function outputMatching(child: ChildProcess, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    const onData = (chunk: unknown) => {
      output += chunk;
      if (pattern.test(output)) resolve(output);
    };
    child.stdout?.on('data', onData);
    child.stderr?.on('data', onData);
    child.once('close', () => reject(new Error(`exited without output matching ${pattern}: ${output}`)));
  });
}

/** A PNG of a red disc on a transparent background, which requires no matting. */
export function discPng(size = 96, radius = 0.4 * size, level = 6): Buffer {
  const rows = Buffer.alloc(size * (1 + 4 * size));
  for (let y = 0; y < size; y += 1) {
    for (let x = 0; x < size; x += 1) {
      const inside = Math.hypot(x - size / 2, y - size / 2) < radius;
      rows.set(inside ? [200, 40 + x, 40 + y, 255] : [0, 0, 0, 0], y * (1 + 4 * size) + 1 + 4 * x);
    }
  }
  return png(size, size, rows, { level });
}
