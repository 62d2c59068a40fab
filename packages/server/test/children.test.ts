// Children decode and compute what users send, so they must not have what an image or a photo could steal.
// @module-tag slow
import { readdir, readFile, readlink } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { ballPhoto } from './ball-photo.js';
import { childrenOf, running, spawnServer } from './faults/server-process.js';
import { createJob, finishedJob, imageJob, newInstallation } from './kit.js';

const secret = 'b0'.repeat(32);
const secrets = {
  GEN3D_SERVER_KEY: secret,
  GEN3D_BOOTSTRAP_API_KEY: secret,
  AWS_SECRET_ACCESS_KEY: secret,
  PGPASSWORD: secret,
  MODEL_SERVER_KEY: secret,
  NVIDIA_API_KEY: secret,
};

const descendantsOf = (pid: number): number[] => childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);

/** Lists the open files of a process from outside, by their paths, with `tcp` for each TCP socket. */
async function openIn(pid: number): Promise<string[]> {
  const numbers = await readdir(`/proc/${pid}/fd`);
  const targets = await Promise.all(numbers.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')));
  const tables = await Promise.all(['tcp', 'tcp6'].map((kind) => readFile(`/proc/${pid}/net/${kind}`, 'utf8')));
  const inodes = tables.flatMap((table) => table.split('\n').map((line) => line.trim().split(/\s+/)[9]));
  return targets.map((target) => {
    const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
    return inode !== undefined && inodes.includes(inode) ? 'tcp' : target;
  });
}

test.runIf(process.platform === 'linux')(
  'children have no credential, no open database and no connection',
  async () => {
    const installation = await newInstallation();
    const server = await running(spawnServer({ ...installation, workers: 1 }, { ...secrets, TZ: 'Asia/Tokyo' }));
    await finishedJob(server.call, await createJob(server.call, imageJob(ballPhoto())));
    const own = await openIn(server.pid!);
    expect(own).toContain('tcp');
    if (installation.database === 'sqlite') expect(own.join()).toContain('gen3d.sqlite');

    const children = descendantsOf(server.pid!);
    expect(children).toContain(server.runnerPid());
    expect(children.length).toBeGreaterThan(1);
    for (const pid of children) {
      const environment = await readFile(`/proc/${pid}/environ`, 'utf8');
      expect(environment).not.toContain('GEN3D_');
      expect(environment).not.toContain(secret);
      const open = await openIn(pid);
      expect(open).not.toContain('tcp');
      expect(open.filter((path) => path.startsWith(installation.dataDir))).toEqual([]);
    }
    expect(await readFile(`/proc/${server.runnerPid()}/environ`, 'utf8')).toContain('TZ=Asia/Tokyo');
  },
);
