// `npm run dev`: a server on this repository's code that restarts after each change, and the dashboard, which reloads in
// the browser. Models are made by `inflate`, the fastest reconstructor. Flags are passed on to `gen3d serve`:
// `npm run dev -- --bundle gen3d-base`. Jobs, models and the API key stay in .dev/, which git ignores.
import { readFileSync, watch } from 'node:fs';
import { join } from 'node:path';
import { Failed, main, start, stop } from './processes.mjs';
import { gen3dBin, root } from './repository.mjs';
import { envWithoutSettings, listeningUrl } from './throwaway-server.mjs';

/** The packages that the server's processes load, in build order. Vite serves the dashboard from its sources. */
const packages = ['schema', 'sdk', 'rpc', 'engine', 'weights', 'convert', 'server', 'cli'];
const folder = process.env.GEN3D_DEV_DIR ?? join(root, '.dev');
const env = { ...envWithoutSettings(), GEN3D_CONFIG_DIR: join(folder, 'config'), GEN3D_DATA_DIR: join(folder, 'data') };
const flags = ['--bundle', 'inflate', ...process.argv.slice(2)];
const tsup = join(root, 'node_modules/tsup/dist/cli-default.js');

await main(async () => {
  let server = serve(flags);
  const url = await listeningUrl(server);
  const pages = await startVite(url);
  const admin = [gen3dBin, 'admin', 'sign-in-link'];
  const { stdout } = await start(process.execPath, admin, { env, stdio: ['ignore', 'pipe', 'pipe'] }).ended;
  console.log(`Server:     ${url}
Dashboard:  ${stdout.trim().replace(url, pages)}
Commands:   GEN3D_CONFIG_DIR=.dev/config npm run gen3d -- create examples/photos/coffee-cup.jpg --wait
Waiting for changes in packages/. Ctrl-C stops.`);

  /** @type {Set<string>} */
  const changed = new Set();
  let wake = () => {};
  for (const name of packages) {
    watch(join(root, 'packages', name, 'src'), { recursive: true }, () => {
      changed.add(name);
      wake();
    });
  }
  for (;;) {
    if (changed.size === 0) await new Promise((resolve) => (wake = () => resolve(undefined)));
    // An editor may write several files at once.
    await new Promise((resolve) => setTimeout(resolve, 200));
    const names = packages.filter((name) => changed.has(name));
    changed.clear();
    if (!(await rebuild(names))) continue;
    await stop(server);
    server = serve([...flags, '--port', new URL(url).port]);
    const started = await listeningUrl(server).then(
      () => true,
      () => false,
    );
    console.log(started ? `Restarted with ${names.join(', ')}.` : 'The server did not start. Waiting for a change.');
  }
});

/** @param {readonly string[]} flags */
function serve(flags) {
  return start(process.execPath, [gen3dBin, 'serve', ...flags], { env, stdio: ['ignore', 'pipe', 'inherit'] });
}

/**
 * Starts Vite, whose server passes on requests of the API.
 *
 * @param {string} url of the API
 * @returns {Promise<string>} the origin of the dashboard
 */
function startVite(url) {
  const dashboard = join(root, 'packages/dashboard');
  const { child, output, ended } = start(process.execPath, [join(dashboard, 'node_modules/vite/bin/vite.js')], {
    cwd: dashboard,
    env: { ...env, GEN3D_BASE_URL: url, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return new Promise((resolve, reject) => {
    child.stdout?.on('data', () => {
      const local = /Local: +(\S+)/.exec(output.stdout)?.[1];
      if (local) resolve(new URL(local).origin);
    });
    ended.then(({ both }) => reject(new Failed(`Vite ended.\n${both}`)), reject);
  });
}

/**
 * Bundles packages without their types, in a second or two. Errors go to the terminal.
 *
 * @param {readonly string[]} names
 */
async function rebuild(names) {
  for (const name of names) {
    const cwd = join(root, 'packages', name);
    const { wireit } = JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8'));
    const [bundle = ''] = wireit.build.command.split(' && ');
    const flags = bundle.split(' ').filter((/** @type {string} */ word) => !['tsup', '--dts'].includes(word));
    const { code, both } = await start(process.execPath, [tsup, ...flags, '--no-dts', '--silent'], {
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
    }).ended;
    if (code === 0) continue;
    console.error(`${both}\n${name} does not build. Waiting for a change.`);
    return false;
  }
  return true;
}
