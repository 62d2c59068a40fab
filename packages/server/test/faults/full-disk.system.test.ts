// A full disk: new data is refused, accepted jobs wait, and work continues once there is free space.
import { cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { CreateJobResponse, ErrorBody, isTerminal, Task } from '@gen3d/schema';
import { sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { asDataUri, ballPhoto } from '../ball-photo.js';
import { assetFiles, site, temporaryFolder, until } from '../kit.js';
import { openDatabase } from '../open-database.js';
import { spawnServer } from './server-process.js';
import { smallDisk } from './small-disk.js';

const disk = await smallDisk(48 * 1024 ** 2);
if (!disk)
  console.warn('full disk: skipped, because this machine offers no small disk (unshare --mount, or a small /dev/shm)');

const photoJob = (image: string) => ({ type: 'image-to-3d', input: { image_urls: [image] } });
/** Its model needs four times the space that the database takes in the meantime: it must be the first to find none. */
const photo = ballPhoto(400, 1, 0.8);
const inline = photoJob(asDataUri(photo));
/** Needs only rows, and no stored image. */
const reserved = { type: 'reserved', input: {} };

const onSmallDisk = test.skipIf(!disk);

onSmallDisk(
  'a full disk gives 503 and damages nothing; jobs wait for free space and are done without a restart',
  async () => {
    const { path, pathHere, enter, fill, freeSpace } = disk!;
    /** Images are sent once their path is in `free`. */
    const asked = new Set<string>();
    const free = new Set<string>();
    const imageHost = await site(async ({ url = '' }, response) => {
      asked.add(url);
      await until(async () => free.has(url), 180_000);
      response.end(photo);
    });
    const settings = {
      dataDir: path,
      resolution: 128,
      textureSize: 2048,
      noTestKey: true,
      allowPrivateNetwork: true,
      rates: { g6e: 0.002 },
      instance: 'g6e',
      bootstrapBalanceUsd: 10,
    };
    const server = spawnServer(settings, {}, enter);
    onTestFinished(() => server.kill());
    await server.ready;

    const post = (body: unknown) => server.call('POST', '/v1/jobs', body);
    const created = async (body: unknown) => {
      const answer = await post(body);
      expect(answer.status).toBe(202);
      return CreateJobResponse.parse(answer.body).job_id;
    };
    const read = async (id: string) => {
      const { status, body } = await server.call('GET', `/v1/jobs/${id}`);
      expect(status).toBe(200);
      return Task.parse(body);
    };
    const ended = (id: string) =>
      until(async () => {
        const task = await read(id);
        return isTerminal(task.status) && task;
      }, 90_000);
    const refused = ({ status, body, headers }: Awaited<ReturnType<typeof post>>) => {
      expect(status).toBe(503);
      expect(ErrorBody.parse(body).error.code).toBe('internal_error');
      expect(headers.get('retry-after')).not.toBeNull();
    };
    /** Creates small jobs until the database cannot grow. Returns the ids of the accepted ones. */
    const createUntilRefused = async () => {
      const ids: string[] = [];
      for (;;) {
        const answer = await post({ ...reserved, idempotency_key: `small ${ids.length}` });
        if (answer.status !== 202) {
          refused(answer);
          return ids;
        }
        ids.push(CreateJobResponse.parse(answer.body).job_id);
        await fill();
      }
    };

    const before = await ended(await created(inline));
    expect(before.status).toBe('SUCCEEDED');
    const model = await (await fetch(before.model_urls!.glb)).arrayBuffer();

    /** The server's log entry about a job that waits for free space. */
    const waitsForSpace = (id: string) =>
      until(async () => server.errors.find((line) => line.includes('the job waits') && line.includes(id)), 90_000);

    // Both jobs wait for their images. Later, the retries of the first one and the database need all free space.
    const unstored = await created(photoJob(`${imageHost}/first`));
    const unrecorded = await created(photoJob(`${imageHost}/second`));
    await until(async () => asked.has('/first') && asked.has('/second'));

    // A little less free space than the model of the same image needs: it is made, but cannot be stored.
    await fill(model.byteLength - 16_384);
    free.add('/first');
    expect(await waitsForSpace(unstored)).toContain('ENOSPC');

    // A little more than an image needs: the image is stored, but its job cannot be.
    await fill(photo.length + 4_096);
    refused(await post(inline));

    // No free space: not even the progress of a job can be stored.
    await fill();
    free.add('/second');
    refused(await post(inline));
    refused(await post({ ...inline, idempotency_key: 'again' }));
    const acceptedLast = await createUntilRefused();
    await waitsForSpace(unrecorded);
    for (const id of [unstored, unrecorded]) expect(await read(id)).toMatchObject({ finished_at: null, error: null });
    expect((await read(before.task_id)).status).toBe('SUCCEEDED');
    expect((await server.call('GET', '/v1/jobs?limit=100')).status).toBe(200);
    expect((await server.call('GET', '/v1/balance')).status).toBe(200);
    expect(await (await fetch(before.model_urls!.glb)).arrayBuffer()).toEqual(model);

    // Free space again, in the same process.
    await freeSpace();
    const later = await created({ ...inline, idempotency_key: 'again' });
    for (const id of [later, unstored, unrecorded]) expect((await ended(id)).status).toBe('SUCCEEDED');
    for (const id of acceptedLast) expect((await ended(id)).error?.code).toBe('unsupported_type');

    // If the server is killed while the disk is full, the database is intact and has every accepted job.
    await fill();
    const last = await createUntilRefused();
    await server.kill();
    const copy = temporaryFolder();
    await cp(pathHere, copy, { recursive: true, filter: (name) => !name.endsWith('filler') });
    const db = openDatabase(join(copy, 'gen3d.sqlite'));
    onTestFinished(() => db.destroy());
    expect((await sql`pragma integrity_check`.execute(db)).rows).toEqual([{ integrity_check: 'ok' }]);
    expect((await sql`pragma foreign_key_check`.execute(db)).rows).toEqual([]);
    const jobs = await db.selectFrom('jobs').selectAll().execute();
    const accepted = [before.task_id, unstored, unrecorded, later, ...acceptedLast, ...last];
    expect(jobs.map(({ id }) => id).sort()).toEqual([...new Set(accepted)].sort());
    // Each job is charged once, and a full disk counts as no attempt.
    const charges = await db.selectFrom('ledger').select('job_id').where('kind', '=', 'charge').execute();
    expect(charges.map(({ job_id }) => job_id).sort()).toEqual([before.task_id, unstored, unrecorded, later].sort());
    for (const { attempt, finished_at } of jobs) expect(attempt).toBeLessThanOrEqual(finished_at === null ? 0 : 1);
    // No partly stored files are left.
    for (const { id, model_key } of jobs) {
      const names = await readdir(join(copy, 'assets', id), { recursive: true }).catch(() => []);
      const files = names.filter((name) => name.includes('/')).map((name) => `${id}/${name}`);
      expect(files.sort()).toEqual(model_key === null ? [] : assetFiles(model_key));
    }
    expect(await readdir(join(copy, 'assets', '.unsettled'))).toEqual([]);
    expect(await readdir(join(copy, 'inputs'))).toEqual([]);
  },
  300_000,
);
