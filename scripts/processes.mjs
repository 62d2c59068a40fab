// Child processes that never outlive the script, however it ends.
import { spawn, spawnSync } from 'node:child_process';

const onWindows = process.platform === 'win32';
/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set();

/** An expected failure. `main` prints only its message, and prints unexpected errors with their stacks. */
export class Failed extends Error {}

/** @returns {error is Error} true for a `Failed`, and for arguments that `parseArgs` rejects */
const isExpected = (/** @type {unknown} */ error) =>
  error instanceof Failed ||
  (error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS'));

/** @typedef {(action: () => void) => void} AtEnd registers an action that runs however the script ends */
/** @typedef {ReturnType<typeof start>} Program */

/**
 * Starts a program as the leader of a new process group, so that its own child processes can be stopped with it.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {import('node:child_process').SpawnOptions} [options] `shell` applies to Windows only
 * @returns the child; `output`, the text of its piped streams so far; `ended`, how it ended, with that text
 */
export function start(command, args, { shell = false, ...options } = {}) {
  const child = spawn(command, args, { detached: !onWindows, shell: onWindows && shell, ...options });
  running.add(child);
  const output = { stdout: '', stderr: '', both: '' };
  for (const name of /** @type {const} */ (['stdout', 'stderr'])) {
    child[name]?.setEncoding('utf8').on('data', (text) => {
      output[name] += text;
      output.both += text;
    });
  }
  /** @type {Promise<{ code: number, signal: NodeJS.Signals | null, stdout: string, stderr: string, both: string }>} */
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      running.delete(child);
      resolve({ code: code ?? 1, signal, ...output });
    });
  });
  ended.catch(() => running.delete(child));
  return { child, output, ended };
}

/**
 * Terminates the program. Kills its process group if it has not ended after `timeoutMs`.
 *
 * @param {Program} program
 */
export async function stop({ child, ended }, timeoutMs = 10_000) {
  if (!running.has(child)) return;
  // On Windows, a SIGTERM would terminate it without notice. `gen3d` ends on this message as on SIGTERM.
  if (onWindows && child.connected) child.send('shutdown');
  else child.kill('SIGTERM');
  const timer = setTimeout(() => kill(child), timeoutMs);
  await ended.catch(() => {});
  clearTimeout(timer);
}

/** @param {import('node:child_process').ChildProcess} child */
function kill(child) {
  try {
    if (child.pid === undefined) return;
    // Windows has no process groups. `/t` also ends the child processes.
    if (onWindows) spawnSync('taskkill', ['/pid', String(child.pid), '/t', '/f']);
    else process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has already ended.
  }
}

/**
 * Runs the script. Ctrl-C, a failure and the normal end leave no child process behind.
 *
 * @param {(atEnd: AtEnd) => Promise<void>} work
 */
export async function main(work) {
  /** @type {Array<() => void>} */
  const cleanUps = [];
  const cleanUp = () => {
    for (const child of running) kill(child);
    for (const action of cleanUps.splice(0)) action();
  };
  for (const [signal, code] of Object.entries({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 })) {
    process.on(signal, () => {
      process.stderr.write('\nInterrupted.\n');
      process.exit(code);
    });
  }
  process.on('exit', cleanUp);
  try {
    await work((action) => cleanUps.push(action));
  } catch (error) {
    console.error(isExpected(error) ? `\n${error.message}` : error);
    process.exitCode = 1;
  } finally {
    // A child process that still runs would keep this one from ending.
    cleanUp();
  }
}
