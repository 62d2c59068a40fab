// A full disk: new data is refused, accepted jobs wait, and work continues once there is free space.

import { type ChildProcess, spawn } from 'node:child_process';
import { appendFile, cp, readdir, rm, statfs, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { CreateJobResponse, ErrorBody, isTerminal, Task } from '@gen3d/schema';
import { sql } from 'kysely';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { asDataUri, ballPhoto } from '../ball-photo.js';
import { type ApiResponse, type AtEnd, assetFiles, databaseOf, site, temporaryFolder, until } from '../kit.js';
import { running, spawnServer } from './server-process.js';

/** A separate file system that is small enough to fill. */
interface SmallDisk {
  /** The path for processes that are started with `enter`. */
  path: string;
  /** Prefix of a command, which starts it in the namespace where the disk is mounted. */
  enter: readonly string[];
  /** The path for this process. SQLite cannot use it, because it resolves symbolic links itself. */
  pathHere: string;
  /** Writes a file until only `freeBytes` are free, or none. */
  fill(freeBytes?: number): Promise<void>;
  /** Removes the file that `fill` wrote. */
  freeSpace(): Promise<void>;
}

const mebibyte = 1024 ** 2;
const tmpfsMagic = 0x01021994;
/** As root, or as any user if the system allows user namespaces. */
const unshares = [
  { unshare: ['--mount'], nsenter: ['--mount'] },
  { unshare: ['--map-root-user', '--mount'], nsenter: ['--user', '--preserve-credentials', '--mount'] },
];

/**
 * A tmpfs in a mount namespace that only the test can see. In a container that may not mount, /dev/shm is used if it is
 * small. Undefined if neither is available.
 */
async function smallDisk(sizeBytes: number, atEnd: AtEnd = afterAll): Promise<SmallDisk | undefined> {
  if (process.platform !== 'linux') return undefined;
  const folder = temporaryFolder(atEnd);
  for (const { unshare, nsenter } of unshares) {
    const mount = `mount -t tmpfs -o size=${sizeBytes} tmpfs "$0" && echo mounted && exec sleep infinity`;
    const holder = spawn('unshare', [...unshare, 'sh', '-c', mount, folder], { stdio: ['ignore', 'pipe', 'ignore'] });
    if (!(await printsLine(holder, 'mounted'))) continue;
    atEnd(() => void holder.kill('SIGKILL'));
    // Without --wd, the command starts at the root of the namespace.
    const enter = ['nsenter', '--target', String(holder.pid), ...nsenter, '--wd=.'];
    return { path: folder, enter, ...filling(`/proc/${holder.pid}/root${folder}`) };
  }
  const { type, blocks, bsize } = await statfs('/dev/shm');
  if (type !== tmpfsMagic || blocks * bsize > 128 * mebibyte) return undefined;
  const shared = temporaryFolder(atEnd, '/dev/shm');
  return { path: shared, enter: [], ...filling(shared) };
}

function printsLine(child: ChildProcess, word: string): Promise<boolean> {
  return new Promise((resolve) => {
    createInterface({ input: child.stdout! }).on('line', (line) => line === word && resolve(true));
    child.once('error', () => resolve(false));
    child.once('exit', () => resolve(false));
  });
}

function filling(pathHere: string): Pick<SmallDisk, 'pathHere' | 'fill' | 'freeSpace'> {
  const filler = join(pathHere, 'filler');
  return {
    pathHere,
    async fill(freeBytes = 0) {
      for (;;) {
        const { bavail, bsize } = await statfs(pathHere);
        const bytes = Math.min(Math.ceil((bavail * bsize - freeBytes) / bsize) * bsize, 16 * mebibyte);
        if (bytes <= 0) return;
        await appendFile(filler, Buffer.alloc(bytes)).catch((error: NodeJS.ErrnoException) => {
          // The server has written in the meantime.
          if (error.code !== 'ENOSPC') throw error;
        });
      }
    },
    freeSpace: () => rm(filler, { force: true }),
  };
}

const available = await smallDisk(mebibyte);
if (!available)
  console.warn('full disk: skipped, because this machine offers no small disk (unshare --mount, or a small /dev/shm)');

const photoJob = (image: string) => ({ type: 'image-to-3d', input: { image_urls: [image] } });
const photo = ballPhoto(160, 0.1);
const inline = photoJob(asDataUri(photo));

/** A server whose data is on the disk, or the part of it that `place` puts there. */
async function setUp(place: (disk: SmallDisk) => Promise<Record<string, unknown>> | Record<string, unknown>) {
  const disk = (await smallDisk(48 * mebibyte, onTestFinished))!;
  const settings = { noTestKey: true, allowPrivateNetwork: true, rates: { g6e: 0.002 }, instance: 'g6e' };
  const server = await running(
    spawnServer({ ...settings, bootstrapBalanceUsd: 10, ...(await place(disk)) }, {}, disk.enter),
  );

  const post = (body: unknown) => server.call('POST', '/v1/jobs', body);
  const created = async (body: unknown) => {
    const response = await post(body);
    expect(response.status).toBe(202);
    return CreateJobResponse.parse(response.body).job_id;
  };
  const read = async (id: string) => Task.parse((await server.call('GET', `/v1/jobs/${id}`)).body);
  const ended = (id: string) =>
    until(async () => {
      const task = await read(id);
      return isTerminal(task.status) && task;
    }, 90_000);
  /** The server's log entry about a job that waits for free space. */
  const waitsForSpace = (id: string) =>
    until(async () => server.errors.find((line) => /jobs? waits?/.test(line) && line.includes(id)), 90_000);
  /** Creates jobs that need only rows, and no stored image, until the database cannot grow. Returns the accepted ones. */
  const createUntilRefused = async () => {
    const ids: string[] = [];
    for (;;) {
      const response = await post({ type: 'reserved', input: {}, idempotency_key: `small ${ids.length}` });
      if (response.status !== 202) {
        expectRefused(response);
        return ids;
      }
      ids.push(CreateJobResponse.parse(response.body).job_id);
      await disk.fill();
    }
  };
  return { disk, server, post, created, read, ended, waitsForSpace, createUntilRefused };
}

function expectRefused({ status, body, headers }: ApiResponse): void {
  expect(status).toBe(503);
  expect(ErrorBody.parse(body).error.code).toBe('internal_error');
  expect(headers.get('retry-after')).not.toBeNull();
}

/** The database of a server that has ended. SQLite cannot open it on the disk itself. */
async function databaseIn(folder: string) {
  const copy = temporaryFolder();
  await cp(folder, copy, { recursive: true, filter: (name) => !name.endsWith('filler') });
  const db = databaseOf(join(copy, 'gen3d.sqlite'));
  const charged = (await db.selectFrom('ledger').select('job_id').where('kind', '=', 'charge').execute())
    .map(({ job_id }) => job_id)
    .sort();
  return { copy, db, charged, jobs: await db.selectFrom('jobs').selectAll().execute() };
}

/** The files of a job's assets. */
async function filesOf(assets: string, id: string): Promise<string[]> {
  const names = await readdir(join(assets, id), { recursive: true }).catch(() => []);
  return names
    .filter((name) => name.includes('/'))
    .map((name) => `${id}/${name}`)
    .sort();
}

describe.skipIf(!available)('while the disk is full', () => {
  test('a model waits for space, without a part of it being stored, and its job loses no attempt', async () => {
    const dataDir = temporaryFolder();
    const { disk, server, created, read, ended, waitsForSpace } = await setUp(({ path }) => ({
      dataDir,
      assets: path,
    }));
    await disk.fill();
    const id = await created(inline);
    expect(await waitsForSpace(id)).toContain('ENOSPC');
    expect(await read(id)).toMatchObject({ finished_at: null, error: null });
    expect(await filesOf(disk.pathHere, id)).toEqual([]);

    await disk.freeSpace();
    expect((await ended(id)).status).toBe('SUCCEEDED');
    // The last step of a job, which does not delay clients.
    await until(async () => (await readdir(join(disk.pathHere, '.unsettled'))).length === 0);
    await server.kill();
    const { charged, jobs } = await databaseIn(dataDir);
    expect(jobs).toMatchObject([{ attempt: 1 }]);
    expect(charged).toEqual([id]);
    expect(await filesOf(disk.pathHere, id)).toEqual(assetFiles(jobs[0]!.model_key!));
  });

  test('an image is removed again if its job cannot be recorded', async () => {
    const inputs = temporaryFolder();
    const { disk, server, post, createUntilRefused } = await setUp(async ({ path, pathHere }) => {
      await symlink(inputs, join(pathHere, 'inputs'));
      return { dataDir: path, workers: 0 };
    });
    const untilHealth = (status: string) =>
      until(async () => {
        const response = await server.call('GET', '/healthz');
        return response.status === 200 && (response.body as { status?: string }).status === status;
      });
    await disk.fill();
    await createUntilRefused();
    expectRefused(await post(inline));
    // A restart would not help, so the health check does not fail.
    await untilHealth('disk full');
    expect(await readdir(inputs)).toEqual([]);
    await disk.freeSpace();
    await untilHealth('ok');
  });

  test('jobs are refused and reads succeed; afterwards, accepted jobs are done without a restart', async () => {
    let free = false;
    let asked = false;
    const imageHost = await site(async (_, response) => {
      asked = true;
      await until(async () => free, 180_000);
      response.end(photo);
    });
    const { disk, server, post, created, read, ended, waitsForSpace, createUntilRefused } = await setUp(({ path }) => ({
      dataDir: path,
    }));
    const before = await ended(await created(inline));
    const model = await (await fetch(before.model_urls!.glb)).arrayBuffer();
    const waiting = await created(photoJob(imageHost));
    await until(async () => asked);

    await disk.fill();
    const accepted = await createUntilRefused();
    // The image arrives, but not even the progress of its job can be stored.
    free = true;
    expect(await waitsForSpace(waiting)).toContain('no disk space left');
    expectRefused(await post({ ...inline, idempotency_key: 'again' }));
    expect(await server.call('GET', '/readyz')).toMatchObject({
      status: 503,
      body: { checks: { database: 'the disk is full', runners: 'unknown without the database' } },
    });
    expect(await read(waiting)).toMatchObject({ finished_at: null, error: null });
    expect(await read(before.task_id)).toEqual(before);
    expect((await server.call('GET', '/v1/jobs?limit=100')).status).toBe(200);
    expect((await server.call('GET', '/v1/balance')).status).toBe(200);
    expect(await (await fetch(before.model_urls!.glb)).arrayBuffer()).toEqual(model);

    await disk.freeSpace();
    const later = await created({ ...inline, idempotency_key: 'again' });
    for (const id of [later, waiting]) expect((await ended(id)).status).toBe('SUCCEEDED');
    for (const id of accepted) expect((await ended(id)).error?.code).toBe('unsupported_type');
    await server.kill();
    const { charged, jobs } = await databaseIn(disk.pathHere);
    expect(jobs.map(({ id }) => id).sort()).toEqual([before.task_id, waiting, later, ...accepted].sort());
    // Each job is charged once, and a full disk counts as no attempt.
    expect(charged).toEqual([before.task_id, waiting, later].sort());
    for (const { attempt } of jobs) expect(attempt).toBeLessThanOrEqual(1);
  });

  test('a server that is killed leaves an intact database with every accepted job, and no other files', async () => {
    const { disk, server, created, ended, post, createUntilRefused } = await setUp(({ path }) => ({ dataDir: path }));
    const before = await created(inline);
    await ended(before);
    await disk.fill();
    const accepted = await createUntilRefused();
    expectRefused(await post(inline));
    await server.kill();

    const { copy, db, jobs } = await databaseIn(disk.pathHere);
    expect((await sql`pragma integrity_check`.execute(db)).rows).toEqual([{ integrity_check: 'ok' }]);
    expect((await sql`pragma foreign_key_check`.execute(db)).rows).toEqual([]);
    expect(jobs.map(({ id }) => id).sort()).toEqual([before, ...accepted].sort());
    for (const { id, model_key } of jobs) {
      expect(await filesOf(join(copy, 'assets'), id)).toEqual(model_key === null ? [] : assetFiles(model_key));
    }
    expect(await readdir(join(copy, 'assets', '.unsettled'))).toEqual([]);
    expect(await readdir(join(copy, 'inputs'))).toEqual([`${before}.front`]);
  });
});
