// An installation moves to PostgreSQL and a bucket, as docs/operations/backup-and-moving.md says.
import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { CreateJobResponse, Task } from '@gen3d/schema';
import { expect, onTestFinished, test } from 'vitest';
import type { Bucket } from '../../src/cluster/s3/bucket.js';
import { edges } from '../../src/composition.js';
import { loadConfig } from '../../src/config.js';
import { FolderAssetStore } from '../../src/data/assets/folder-store.js';
import { FolderInputStore } from '../../src/data/inputs/folder-store.js';
import { packReceived, unpack } from '../../src/data/inputs/stored-image.js';
import { deleteJob } from '../../src/data/jobs/deletion.js';
import { migrateTo } from '../../src/index.js';
import { asDataUri, ballPhoto } from '../ball-photo.js';
import { newPostgresDatabase, temporaryFolder, until } from '../kit.js';
import { bucketName, keysIn, sharedS3 } from '../s3/kit.js';
import { databaseAt, serveFrom } from './sqlite-installation.js';

const s3 = sharedS3();
const emptyDatabase = () => newPostgresDatabase(onTestFinished, 'template0');
const glb = (name: string) => Buffer.from(`glTF of ${name}`);
const jpeg = (name: string) => Buffer.from(`JPEG of ${name}`);

/**
 * A SQLite installation with a finished job, a waiting job with images of two sides, one whose image was fetched and prepared, a
 * canceled one whose image is kept for a retry, a finished one whose photo the operator keeps, and files of earlier attempts.
 */
async function installation() {
  const dataDir = temporaryFolder();
  const server = await serveFrom({ dataDir, database: 'sqlite' });
  const create = async (url: string, views?: object) => {
    const job = { type: 'image-to-3d', input: { image_urls: [url], views } };
    return CreateJobResponse.parse((await server.call('POST', '/v1/jobs', job)).body).job_id;
  };
  const finished = await create('https://example.com/photo.jpg');
  const waiting = await create(asDataUri(ballPhoto()), { back: asDataUri(ballPhoto()) });
  const fetched = await create('https://example.com/fetched.jpg');
  const canceled = await create(asDataUri(ballPhoto()));
  await server.call('POST', `/gen3d/jobs/${canceled}/cancel`);
  const kept = await create(asDataUri(ballPhoto()));
  const inputs = new FolderInputStore(join(dataDir, 'inputs'));
  await inputs.put(fetched, 'front', packReceived(ballPhoto()));
  await inputs.put(finished, 'front', packReceived(ballPhoto())); // left by a crash
  const store = new FolderAssetStore(join(dataDir, 'assets'));
  const winner = await store.put(finished, glb('winner'), jpeg('winner'));
  const loser = await store.put(finished, glb('loser'), jpeg('loser'));
  await store.put(waiting, glb('crashed'), jpeg('crashed'));
  const db = databaseAt(join(dataDir, 'gen3d.sqlite'));
  await db
    .updateTable('jobs')
    .set({
      status: 'SUCCEEDED',
      progress: 100,
      finished_at: Date.now(),
      model_key: winner.modelKey,
      thumbnail_key: winner.thumbnailKey,
    })
    .where('id', '=', finished)
    .execute();
  await db.updateTable('jobs').set({ status: 'QUEUED', prepared: 1 }).where('id', '=', fetched).execute();
  const succeeded = { status: 'SUCCEEDED', progress: 100, finished_at: Date.now() } as const;
  await db.updateTable('jobs').set(succeeded).where('id', '=', kept).execute();
  await db.destroy();
  const task = Task.parse((await server.call('GET', `/v1/jobs/${finished}`)).body);
  await server.close();
  return { dataDir, apiKey: server.apiKey, finished, waiting, fetched, canceled, kept, winner, loser, task };
}

/** Copies the files of a data directory to a bucket under the keys that docs/operations/s3.md names. */
async function copyFiles(dataDir: string, bucket: Bucket): Promise<void> {
  const copy = async (folder: string, name: string, key: string, type = 'application/octet-stream') =>
    bucket.put(key, await readFile(join(dataDir, folder, name)), { type }, 10_000);
  const types: Record<string, string> = { '.glb': 'model/gltf-binary', '.jpg': 'image/jpeg', '.webp': 'image/webp' };
  for (const name of await readdir(join(dataDir, 'assets'), { recursive: true })) {
    const type = types[extname(name)];
    if (type) await copy('assets', name, `assets/${name}`, type);
  }
  for (const name of await readdir(join(dataDir, 'assets', '.unsettled'))) {
    await copy('assets/.unsettled', name, `unsettled/${name}`);
  }
  for (const name of await readdir(join(dataDir, 'inputs'))) {
    await copy('inputs', name, `inputs/${name}.${randomBytes(11).toString('hex')}`);
  }
}

async function moved(dataDir: string) {
  const { bucket, prefix, url } = s3.emptyBucket();
  const database = await emptyDatabase();
  const settings = { dataDir, database, assets: `s3://${bucketName}/${prefix}`, s3Endpoint: s3.endpoint() };
  const target = loadConfig({}, {}, settings);
  const { jobsWithPhotos } = await migrateTo({ dataDir, target });
  await copyFiles(dataDir, bucket);
  return {
    bucket,
    url,
    settings,
    jobsWithPhotos,
    stores: await edges.openFileStores({ assets: settings.assets, inputs: '' }, target),
  };
}

test('a copied model is served by the bucket, its old URL redirects there, and jobs find their photos', async () => {
  const { dataDir, apiKey, finished, waiting, fetched, canceled, kept, task } = await installation();
  const { bucket, url, settings, jobsWithPhotos, stores } = await moved(dataDir);
  // The waiting job. The photo of the other unfinished job can be fetched again.
  expect(jobsWithPhotos).toBe(1);
  for (const id of [waiting, fetched, canceled, kept]) {
    expect(unpack(await stores.inputs.read(id, 'front'))).toEqual(new Uint8Array(ballPhoto()));
  }
  expect(unpack(await stores.inputs.read(waiting, 'back'))).toEqual(new Uint8Array(ballPhoto()));

  const server = await serveFrom(settings, apiKey);
  const task_ = Task.parse((await server.call('GET', `/v1/jobs/${finished}`)).body);
  expect(task_.model_urls?.glb.startsWith(url.replace(/\/$/, '')) || task_.model_urls?.glb.includes(bucketName)).toBe(
    true,
  );
  const model = await fetch(task_.model_urls!.glb);
  expect(Buffer.from(await model.arrayBuffer())).toEqual(glb('winner'));
  expect(model.headers.get('content-type')).toBe('model/gltf-binary');
  expect((await fetch(task_.thumbnail_url!)).headers.get('content-type')).toBe('image/jpeg');
  const old = await fetch(server.url + new URL(task.model_urls!.glb).pathname, { redirect: 'manual' });
  expect([old.status, old.headers.get('location')]).toEqual([302, task_.model_urls!.glb]);

  const remove = (id: string) => server.call('DELETE', `/gen3d/jobs/${id}`);
  for (const id of [finished, waiting]) expect((await remove(id)).status).toBe(204);
  const names = [...(await keysIn(bucket, 'assets/')), ...(await keysIn(bucket, 'inputs/'))];
  expect(names.filter((name) => name.includes(finished) || name.includes(waiting))).toEqual([]);
  expect((await fetch(server.url + new URL(task.model_urls!.glb).pathname, { redirect: 'manual' })).status).toBe(410);
});

test('files that losing attempts left behind are removed from the bucket, too', async () => {
  const { dataDir, winner, finished, loser } = await installation();
  const { bucket, stores } = await moved(dataDir);
  const outcomeOf = async (id: string) => (id === finished ? { finished: true, modelKey: winner.modelKey } : undefined);
  await stores.assets.sweep(Date.now() + 60_000, outcomeOf);
  const left = await keysIn(bucket, 'assets/');
  for (const key of Object.values(winner)) expect(left).toContain(`assets/${key}`);
  for (const key of Object.values(loser)) expect(left).not.toContain(`assets/${key}`);
});

test('a deletion that was not finished before the move is finished after it', async () => {
  const { dataDir, apiKey, finished } = await installation();
  const source = databaseAt(join(dataDir, 'gen3d.sqlite'));
  await deleteJob(source, finished, Date.now());
  await source.destroy();
  const { bucket, settings } = await moved(dataDir);
  await serveFrom(settings, apiKey);
  const left = async () => (await keysIn(bucket, 'assets/')).filter((name) => name.includes(finished));
  await until(async () => (await left()).length === 0);
});
