// A decoder that an image has taken over, in a real server, with and without bubblewrap.
import { spawnSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { discPng, outputMatching, testFolder } from './run.js';

const { path, start, gen3d, spawned } = testFolder();
const root = fileURLToPath(new URL('../../..', import.meta.url));
const works = (command: string, ...args: string[]) => spawnSync(command, args).status === 0;
const needsSandbox = works('bwrap', '--unshare-all', '--ro-bind', '/', '/', 'true')
  ? ''
  : ' (skipped: bubblewrap is not installed, or not allowed to make namespaces)';

/** Starts a server with hostile decoders, whose data directory is in the folder `name`. */
async function startHostile(name: string, args: readonly string[]) {
  const folder = path(name);
  await mkdir(folder, { mode: 0o700 });
  const env = {
    NODE_OPTIONS: `--require "${root}/packages/server/test/hostile-decoder.cjs"`,
    AWS_SECRET_ACCESS_KEY: 'secret-of-the-server',
    HOME: folder,
    GEN3D_CONFIG_DIR: `${folder}/config`,
    GEN3D_DATA_DIR: `${folder}/data`,
  };
  return start(args, env);
}

/** Sends a hostile image, and returns the report of the decoder that it took over. */
async function reached(name: string, server: Awaited<ReturnType<typeof startHostile>>) {
  const [, url = ''] = /listening on (\S+)/.exec(await outputMatching(server, /listening on (\S+)\n/)) ?? [];
  const target = { file: path(name, 'data/server.key'), port: Number(new URL(url).port) };
  expect(await readFile(target.file, 'utf8')).not.toBe('');
  await writeFile(path('hostile.png'), Buffer.concat([discPng(), Buffer.from(JSON.stringify(target))]));
  const env = { GEN3D_BASE_URL: url, GEN3D_CONFIG_DIR: path(name, 'config') };
  const { stdout } = await gen3d(['create', 'hostile.png', '--wait', '--json'], { env });
  const { error } = JSON.parse(stdout);
  return JSON.parse(error.message);
}

const nothing = {
  key: 'ENOENT',
  // Its loopback interface is its own.
  network: 'ECONNREFUSED',
  environment: 'ENOENT',
  code: 'EROFS',
};

test.runIf(process.platform === 'linux')(
  'without a sandbox, a hostile decoder reads the server key, connects, and reads the secrets of other processes',
  async () => {
    const server = await startHostile('off', ['serve', '--port', '0', '--decoder-sandbox', 'off']);
    expect(await reached('off', server)).toMatchObject({ key: 'read', network: 'connected', environment: 'read' });
    server.kill();
  },
);

test.skipIf(needsSandbox)(`in the sandbox, it reaches nothing${needsSandbox}`, async () => {
  const server = await startHostile('auto', ['serve', '--port', '0']);
  expect(await reached('auto', server)).toEqual(nothing);
  server.kill();
});

test.runIf(process.platform === 'linux')(
  'where bubblewrap is required but missing, the server does not start',
  async () => {
    await mkdir(path('empty'));
    const env = { PATH: path('empty'), GEN3D_DECODER_SANDBOX: 'require' };
    const missing = 'images are decoded without a sandbox: bubblewrap is not installed. Install the package bubblewrap';
    const { code, stderr } = await spawned(['serve', '--port', '0'], { env });
    expect(stderr).toContain(missing);
    expect(stderr).not.toMatch(/bug in gen3d|^ +at /m);
    expect(code).toBe(1);
    const { stdout } = await spawned(['doctor', '--json'], { env });
    expect(JSON.parse(stdout).findings).toContainEqual({
      topic: 'sandbox',
      level: 'problem',
      text: expect.stringContaining(missing),
    });
  },
);
