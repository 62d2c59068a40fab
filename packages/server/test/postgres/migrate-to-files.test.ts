// Models and the images of waiting jobs are copied when an installation moves to PostgreSQL.
import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CreateJobResponse, Task } from '@gen3d/schema';
import { expect, onTestFinished, test } from 'vitest';
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
  await store.put(finished, glb('loser'), jpeg('loser'));
  await store.put(waiting, glb('crashed'), jpeg('crashed'));
  // The job's row was deleted after its retention time. Its URLs are permanent.
  const forgotten = await store.put('01ARZ3NDEKTSV4RRFFQ69G5FAV', glb('forgotten'), jpeg('forgotten'));
  await writeFile(join(dataDir, 'assets', dirname(winner.modelKey), '.model.glb.draft'), 'half');
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
  const succeeded = { status: 'SUCCEEDED', progress: 100, finished_at: Date.now(), photo_kept: 1 } as const;
  await db.updateTable('jobs').set(succeeded).where('id', '=', kept).execute();
  await db.destroy();
  const task = Task.parse((await server.call('GET', `/v1/jobs/${finished}`)).body);
  await server.close();
  const wanted = (await readdir(join(dataDir, 'assets', 'sample'), { recursive: true }))
    .filter((name) => /\.(glb|jpg)$/.test(name))
    .map((name) => `sample/${name}`)
    .concat(Object.values(winner), Object.values(forgotten))
    .sort();
  return { dataDir, apiKey: server.apiKey, finished, waiting, fetched, canceled, kept, winner, task, wanted };
}

async function toBucket(dataDir: string, database: string) {
  const { bucket, prefix, url } = s3.emptyBucket();
  const settings = { dataDir, database, assets: `s3://${bucketName}/${prefix}`, s3Endpoint: s3.endpoint() };
  const target = loadConfig({}, {}, settings);
  return {
    bucket,
    url,
    settings,
    stores: await edges.openFileStores({ assets: settings.assets, inputs: '' }, target),
    move: () => migrateTo({ source: { dataDir, assets: undefined }, target, files: true }),
  };
}

test('a model moves to the bucket, its old URL redirects there, and the images that jobs need are copied', async () => {
  const { dataDir, apiKey, finished, waiting, fetched, canceled, kept, task, wanted } = await installation();
  const database = await emptyDatabase();
  const { bucket, url, settings, stores, move } = await toBucket(dataDir, database);
  const report = await move();
  expect(report.files).toMatchObject({
    assets: { copied: wanted.length, there: 0 },
    photos: { copied: 5, there: 0 },
  });
  expect(report.photosLeft).toBe(0);
  expect(await keysIn(bucket, 'assets/')).toEqual(wanted.map((key) => `assets/${key}`));
  for (const id of [waiting, fetched, canceled, kept]) {
    expect(unpack(await stores.inputs.read(id, 'front'))).toEqual(new Uint8Array(ballPhoto()));
  }
  expect(unpack(await stores.inputs.read(waiting, 'back'))).toEqual(new Uint8Array(ballPhoto()));
  expect(await keysIn(bucket, 'inputs/')).toHaveLength(5);

  const server = await serveFrom(settings, apiKey);
  const moved = Task.parse((await server.call('GET', `/v1/jobs/${finished}`)).body);
  expect(moved.model_urls?.glb.startsWith(url.replace(/\/$/, '')) || moved.model_urls?.glb.includes(bucketName)).toBe(
    true,
  );
  const model = await fetch(moved.model_urls!.glb);
  expect(Buffer.from(await model.arrayBuffer())).toEqual(glb('winner'));
  expect(model.headers.get('content-type')).toBe('model/gltf-binary');
  expect((await fetch(moved.thumbnail_url!)).headers.get('content-type')).toBe('image/jpeg');
  const old = await fetch(server.url + new URL(task.model_urls!.glb).pathname, { redirect: 'manual' });
  expect([old.status, old.headers.get('location')]).toEqual([302, moved.model_urls!.glb]);

  const remove = (id: string) => server.call('DELETE', `/gen3d/jobs/${id}`);
  for (const id of [finished, waiting]) expect((await remove(id)).status).toBe(204);
  const names = [...(await keysIn(bucket, 'assets/')), ...(await keysIn(bucket, 'inputs/'))];
  expect(names.filter((name) => name.includes(finished) || name.includes(waiting))).toEqual([]);
  expect((await fetch(server.url + new URL(task.model_urls!.glb).pathname, { redirect: 'manual' })).status).toBe(410);
});

test('a deletion that was not finished before the move is finished after it', async () => {
  const { dataDir, apiKey, finished } = await installation();
  const source = databaseAt(join(dataDir, 'gen3d.sqlite'));
  await deleteJob(source, finished, Date.now());
  await source.destroy();
  const { bucket, settings, move } = await toBucket(dataDir, await emptyDatabase());
  await move();
  await serveFrom(settings, apiKey);
  const left = async () => (await keysIn(bucket, 'assets/')).filter((name) => name.includes(finished));
  await until(async () => (await left()).length === 0);
});

test('interrupted by the bucket, it resumes: it sends no file twice, except one with different content', async () => {
  const { dataDir, waiting, fetched, canceled, winner, wanted } = await installation();
  const database = await emptyDatabase();
  const { bucket, stores, move } = await toBucket(dataDir, database);
  const passes = async () => {};
  const refused = { status: 403, code: 'AccessDenied' };
  s3.proxy().plan(/^PUT .*\/assets\//, passes, passes, ...wanted.map(() => refused));
  await expect(move()).rejects.toThrow(/^Cannot use the bucket .* do not permit writing .*run this command again/);
  s3.proxy().mend();
  expect(await keysIn(bucket, 'assets/')).toHaveLength(2);

  const { assets } = (await move()).files!;
  expect(assets).toMatchObject({ copied: wanted.length - 2, there: 2 });

  // The database is complete now, and only the files are checked again.
  await stores.assets.write(winner.modelKey, glb('imposter'));
  await stores.inputs.remove(canceled);
  for (const id of [waiting, fetched]) await rm(join(dataDir, 'inputs', `${id}.front`));
  const again = await move();
  expect(again).toMatchObject({ found: 'finished', tables: [] });
  expect(again.files).toMatchObject({
    assets: { copied: 1, there: wanted.length - 1 },
    photos: { copied: 1, there: 2 },
  });
  expect(Buffer.from((await stores.assets.read(winner.modelKey))!)).toEqual(glb('winner'));
  expect(await keysIn(bucket, 'inputs/')).toHaveLength(5);
});

test('copies models into a folder, and leaves images in the data directory', { timeout: 180_000 }, async () => {
  const { dataDir, winner, wanted } = await installation();
  const database = await emptyDatabase();
  const assets = join(temporaryFolder(), 'models');
  // As an interrupted copy by another tool leaves it.
  await mkdir(join(assets, dirname(winner.modelKey)), { recursive: true });
  await writeFile(join(assets, winner.modelKey), glb('winner').subarray(0, 3));
  await rm(join(dataDir, 'assets', winner.thumbnailKey));
  const target = loadConfig({}, {}, { dataDir, database, assets });
  const report = await migrateTo({ source: { dataDir, assets: undefined }, target, files: true });
  expect(report.photosLeft).toBe(5);
  expect(report.files).toMatchObject({ assets: { copied: wanted.length - 1 }, photos: { copied: 0 } });
  const copied = new FolderAssetStore(assets);
  for (const key of wanted) {
    if (key !== winner.thumbnailKey)
      expect(await copied.read(key)).toEqual(await new FolderAssetStore(join(dataDir, 'assets')).read(key));
  }
  expect(Buffer.from((await copied.read(winner.modelKey))!)).toEqual(glb('winner'));
  expect(existsSync(join(assets, '.unsettled'))).toBe(false);
});
