import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Failed, start, stop } from './processes.mjs';
import { gen3dBin } from './repository.mjs';

/**
 * Runs `gen3d serve` on a free port. Its data and the command line's profile are in a temporary folder, and the
 * settings of the environment are ignored, so it cannot touch a real installation.
 *
 * @param {import('./processes.mjs').AtEnd} atEnd
 * @param {readonly string[]} flags
 * @param {{ env?: NodeJS.ProcessEnv, enter?: readonly string[], bin?: string }} [options] `env` is set for the server
 *   alone; `enter` is put before its command; `bin` is the command line, by default that of this repository
 */
export async function startThrowawayServer(
  atEnd,
  flags = [],
  { env: serverEnv = {}, enter = [], bin = gen3dBin } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'gen3d-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
  const dataDir = join(folder, 'data');
  const env = { ...envWithoutSettings(), GEN3D_CONFIG_DIR: join(folder, 'config'), GEN3D_DATA_DIR: dataDir };

  const serve = [bin, 'serve', '--port', '0', '--data-dir', dataDir, ...flags];
  const [command = '', ...args] = [...enter, process.execPath, ...serve];
  // On Windows, `stop` needs a channel to end the server gracefully.
  /** @type {import('node:child_process').StdioOptions} */
  const stdio = ['ignore', 'pipe', 'pipe', ...(process.platform === 'win32' ? [/** @type {const} */ ('ipc')] : [])];
  const server = start(command, args, { env: { ...env, ...serverEnv }, stdio });
  const url = await listeningUrl(server);
  const { servers } = JSON.parse(readFileSync(join(env.GEN3D_CONFIG_DIR, 'profile.json'), 'utf8'));

  return {
    /** Temporary: removed with its contents when the script ends. */
    folder,
    dataDir,
    url,
    /** @type {string} */
    apiKey: servers[url].apiKey,
    pid: /** @type {number} */ (server.child.pid),
    /** The end of the server's log. */
    log: () => server.output.stderr.slice(-2000),
    /**
     * Runs the command line against the server.
     *
     * @param {readonly string[]} args
     * @param {{ stderr?: 'pipe' | 'inherit' }} [options]
     */
    gen3d: (args, { stderr = 'pipe' } = {}) =>
      start(process.execPath, [bin, ...args], { env, stdio: ['ignore', 'pipe', stderr] }).ended,
    /** @param {number} [timeoutMs] */
    close: (timeoutMs) => stop(server, timeoutMs),
  };
}

/** @typedef {Awaited<ReturnType<typeof startThrowawayServer>>} ThrowawayServer */

/** The environment without gen3d's variables. */
export const envWithoutSettings = () =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GEN3D_')));

/**
 * The URL that a server prints once it is listening.
 *
 * @param {import('./processes.mjs').Program} server its stdout is a pipe
 * @param {(output: string) => string} [log] its log, where that is not in the output
 * @returns {Promise<string>}
 */
export function listeningUrl({ child, output, ended }, log = (output) => output) {
  return new Promise((resolve, reject) => {
    child.stdout?.on('data', () => {
      const url = /listening on (http:\S+)/.exec(output.stdout)?.[1];
      if (url) resolve(url);
    });
    ended.then(({ both }) => reject(new Failed(`The server did not start.\n${log(both).slice(-2000)}`)), reject);
  });
}
