import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Failed, start, stop } from './processes.mjs';
import { gen3dBin } from './repository.mjs';

/**
 * Runs `gen3d serve` on a free port, with its data and the command line's profile in a temporary folder: nobody's own
 * server, key or settings are touched.
 *
 * @param atEnd takes what must happen however the script ends
 * @param options `env` is set for the server alone; `enter` is put before its command
 * @returns its address, key and process id, `gen3d(args)` that runs the command line against it, and `close()`
 */
export async function startThrowawayServer(atEnd, flags = [], { env: serverEnv = {}, enter = [] } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'gen3d-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('GEN3D_'));
  const env = {
    ...Object.fromEntries(own),
    GEN3D_CONFIG_DIR: join(folder, 'config'),
    GEN3D_DATA_DIR: join(folder, 'data'),
  };

  const serve = [gen3dBin, 'serve', '--port', '0', '--data-dir', env.GEN3D_DATA_DIR, ...flags];
  const [command, ...args] = [...enter, process.execPath, ...serve];
  const server = start(command, args, { env: { ...env, ...serverEnv }, stdio: ['ignore', 'pipe', 'pipe'] });
  const url = await new Promise((resolve, reject) => {
    server.child.stdout.on('data', () => {
      const found = /gen3d is listening on (http:\S+)/.exec(server.output.stdout);
      if (found) resolve(found[1]);
    });
    const failed = (what) => reject(new Failed(`The server did not start.\n${what}`));
    server.ended.then(({ both }) => failed(both.slice(-2000)), failed);
  });
  const { servers } = JSON.parse(readFileSync(join(env.GEN3D_CONFIG_DIR, 'profile.json'), 'utf8'));

  return {
    /** Temporary: removed with everything in it when the script ends. */
    folder,
    dataDir: env.GEN3D_DATA_DIR,
    url,
    apiKey: servers[url].apiKey,
    pid: server.child.pid,
    /** The end of the server's log. */
    log: () => server.output.stderr.slice(-2000),
    gen3d: (args, { stderr = 'pipe' } = {}) =>
      start(process.execPath, [gen3dBin, ...args], { env, stdio: ['ignore', 'pipe', stderr] }).ended,
    close: () => stop(server),
  };
}
