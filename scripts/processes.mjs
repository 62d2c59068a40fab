// Child processes that never outlive the script, whatever ends it.
import { spawn } from 'node:child_process';

const onWindows = process.platform === 'win32';
const running = new Set();

/** A sentence for the person who ran the script; anything else that is thrown is a bug in it. */
export class Failed extends Error {}

/**
 * Starts a program as the head of a process group of its own, so that whatever it starts can be ended with it.
 *
 * @returns the child, and `ended`: its exit code, with everything it wrote to piped streams
 */
export function start(command, args, { shell = false, ...options } = {}) {
  const child = spawn(command, args, { detached: !onWindows, shell: shell && onWindows, ...options });
  running.add(child);
  const output = { stdout: '', stderr: '', both: '' };
  for (const name of ['stdout', 'stderr']) {
    child[name]?.setEncoding('utf8').on('data', (text) => {
      output[name] += text;
      output.both += text;
    });
  }
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      running.delete(child);
      resolve({ code: code ?? 1, ...output });
    });
  });
  ended.catch(() => running.delete(child));
  return { child, output, ended };
}

/** Asks the program and all it started to end; after `patienceMs` it is ended. */
export async function stop({ child, ended }, patienceMs = 10_000) {
  if (!running.has(child)) return;
  child.kill('SIGTERM');
  const timer = setTimeout(() => kill(child, 'SIGKILL'), patienceMs);
  await ended.catch(() => {});
  clearTimeout(timer);
}

function kill(child, signal) {
  try {
    if (onWindows) child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}

/** Runs the script's work; Ctrl-C, a failure and the normal end all leave no process behind. */
export async function main(work) {
  const cleanUps = [];
  const cleanUp = () => {
    for (const child of running) kill(child, 'SIGKILL');
    for (const action of cleanUps.splice(0)) action();
  };
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ]) {
    process.on(signal, () => {
      process.stderr.write('\nInterrupted.\n');
      process.exit(code);
    });
  }
  process.on('exit', cleanUp);
  try {
    await work((action) => cleanUps.push(action));
  } catch (error) {
    console.error(error instanceof Failed ? `\n${error.message}` : error);
    process.exitCode = 1;
  }
}
