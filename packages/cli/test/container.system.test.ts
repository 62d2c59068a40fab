// Builds the image with scripts/build-image.sh, and runs it with the settings of compose.yaml.
import { spawn, spawnSync } from 'node:child_process';
import { chown, mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { freePort } from '../../server/test/free-port.js';
import { discPng, outputMatching, result, testFolder } from './run.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const tag = 'gen3d:system-test';
const user = 10_001;
const missing = ['buildah', 'debootstrap', 'unshare', 'setpriv'].filter((tool) => spawnSync(tool, ['--help']).error);
const obstacle =
  missing.length > 0
    ? `${missing.join(' and ')} not installed`
    : process.getuid?.() === 0
      ? ''
      : 'only root can build it';

const { path, gen3d } = testFolder();
const output = (command: string, ...args: string[]) => {
  const { stdout, stderr, status } = spawnSync(command, args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed:\n${stderr.slice(-2000)}`);
  return stdout.trim();
};

let container = '';
afterAll(() => {
  if (container) output('buildah', 'rm', container);
});

/** Enters the image's folder $0 with the volume $1: nothing else can be written, and no capability is left. */
const enterImage = `
  mount --bind "$0" "$0" && mount --bind "$1" "$0/data" && mount -t tmpfs tmpfs "$0/tmp"
  mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount -o remount,bind,ro "$0"
  folder=$0; shift
  exec chroot "$folder" setpriv --reuid ${user} --regid ${user} --clear-groups --bounding-set=-all --no-new-privs env -i "$@"`;

test.skipIf(obstacle)(
  `the image runs with compose.yaml's settings, and keeps its jobs on the volume${obstacle && ` (skipped: ${obstacle})`}`,
  async () => {
    output('scripts/build-image.sh', tag);
    container = output('buildah', 'from', '--pull-never', tag);
    const folder = output('buildah', 'mount', container);
    const { User, Env, Entrypoint, Cmd, Volumes } = JSON.parse(output('buildah', 'inspect', '--type', 'image', tag))
      .OCIv1.config;
    expect({ User, Volumes }).toEqual({ User: `${user}:${user}`, Volumes: { '/data': {} } });

    const { services } = parse(await readFile(`${root}/compose.yaml`, 'utf8'));
    const { environment, healthcheck, ...settings } = services.gen3d;
    expect(settings).toMatchObject({
      read_only: true,
      tmpfs: ['/tmp:size=2g'],
      volumes: ['data:/data'],
      cap_drop: ['ALL'],
    });
    const port = await freePort();
    const url = `http://localhost:${port}`;
    const variables = Object.entries({ ...environment, GEN3D_PUBLIC_URL: url, GEN3D_PORT: port });
    await mkdir(path('volume'));
    await chown(path('volume'), user, user);
    const enter = (...command: string[]) => {
      const inside = [...Env, ...variables.map(([name, value]) => `${name}=${value}`), ...command];
      return spawn('unshare', ['--mount', 'sh', '-ceu', enterImage, folder, path('volume'), ...inside]);
    };
    const healthy = healthcheck.test.slice(1).map((part: string) => part.replace('8787', String(port)));

    const server = enter(...Entrypoint, ...Cmd);
    const ended = result(server);
    expect(await outputMatching(server, /listening on http/)).toContain('gen3d admin key create default');
    const key = (await result(enter(...Entrypoint, 'admin', 'key', 'create', 'default'))).stdout.trim();
    const env = { GEN3D_BASE_URL: url, GEN3D_API_KEY: key };
    await writeFile(path('disc.png'), discPng());
    const created = await gen3d(['create', 'disc.png', '--wait', '--json'], { env });
    expect(created).toMatchObject({ code: 0 });
    const { task_id: job } = JSON.parse(created.stdout);

    expect(await result(enter(...healthy))).toMatchObject({ code: 0 });
    expect(await result(enter(...Entrypoint, 'doctor'))).toMatchObject({ code: 0 });
    const link = await result(enter(...Entrypoint, 'admin', 'sign-in-link'));
    expect(link).toMatchObject({ code: 0, stdout: expect.stringContaining(`${url}/`) });
    const written = await result(enter('touch', '/app/file', '/data/file', '/tmp/file'));
    expect(written.stderr.trim().split('\n')).toEqual([expect.stringMatching(/\/app\/file.*Read-only/)]);

    server.kill('SIGTERM');
    expect(await ended).toMatchObject({ code: 0 });
    expect(await result(enter(...healthy))).toMatchObject({ code: 1 });
    const again = enter(...Entrypoint, ...Cmd);
    expect(await outputMatching(again, /listening on http/)).not.toMatch(/gen3d_[\w-]{32,}/);
    const got = await gen3d(['get', job, '--json'], { env });
    expect(JSON.parse(got.stdout)).toMatchObject({ status: 'SUCCEEDED' });
    const model = await fetch(JSON.parse(got.stdout).model_urls.glb);
    expect(Buffer.from(await model.arrayBuffer()).toString('latin1', 0, 4)).toBe('glTF');
    again.kill('SIGTERM');
    await result(again);
  },
  900_000,
);
