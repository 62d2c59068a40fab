import { execFileSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { decode } from '@gen3d/engine';
import { type PhotoSide, photoSides } from '@gen3d/schema/rules';
import type { KyselyPlugin } from 'kysely';
import { expect, onTestFinished, test, vi } from 'vitest';
import { asDataUri, ballPhoto, ballPixels, bomb } from '../../test/ball-photo.js';
import { newAccount, newJob, site, temporaryDatabase, temporaryFolder, until } from '../../test/kit.js';
import { testDevice, testWorker } from '../../test/worker-kit.js';
import { newUlid } from '../base/ids.js';
import { FolderAssetStore } from '../data/assets/folder-store.js';
import { currentTime } from '../data/db/time.js';
import { FolderInputStore } from '../data/inputs/folder-store.js';
import { packPixels, packReceived, type RawImage, unpack } from '../data/inputs/stored-image.js';
import { deleteJob, finishDeletion } from '../data/jobs/deletion.js';
import { photoColumns } from '../data/jobs/photos.js';
import { DecoderPool } from './preparation/decoder-pool.js';
import { slowHost } from './prepare.js';
import { decodedPhoto } from './runner/decoded-photo.js';

async function setUp({ slots = 8, fileTimeoutMs = 60_000 } = {}) {
  const db = await temporaryDatabase();
  const inputs = new FolderInputStore(temporaryFolder());
  const decoders = new DecoderPool();
  const assets = new FolderAssetStore(temporaryFolder());
  let timesPrepared = 0;
  let claims = 0;
  const countingClaims: KyselyPlugin = {
    transformQuery({ node }) {
      // The first query of a claim, and the only one with an offset.
      if (node.kind === 'SelectQueryNode' && node.offset) claims++;
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  const worker = testWorker(
    {
      db: db.withPlugin(countingClaims),
      inputs,
      assets,
      children: {
        start: async () => testDevice,
        decode: (image, accountId, signal) => decoders.decode(image, accountId, signal),
        nextRunner: () => undefined,
        stop: async () => decoders.stop(),
      },
      onPrepared: () => void timesPrepared++,
      fileTimeoutMs,
    },
    { preparations: slots },
  );
  await worker.start();
  const account = await newAccount(db);
  /** Creates a job with a stored image, or with a URL. */
  const create = async (image: Uint8Array | string, of = account) => {
    if (typeof image === 'string') return newJob(db, of, { prepared: 0, image_urls: JSON.stringify({ front: image }) });
    const id = newUlid();
    await inputs.put(id, 'front', packReceived(image));
    return newJob(db, of, { id, prepared: 0, image_urls: null });
  };
  const job = (id: string) => db.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  const prepared = (id: string) => until(async () => (await job(id)).prepared === 1);
  const preparing = async () => {
    const rows = await db
      .selectFrom('jobs')
      .select('account_id')
      .where('progress', '=', 5)
      // After a timeout of its image host, a job waits for the next attempt without a lease.
      .where('lease_token', 'is not', null)
      .execute();
    return rows.map(({ account_id }) => account_id);
  };
  /** Resolves when a claim that started after this call has ended, so that another could start. */
  const nextClaim = () => {
    const before = claims;
    return until(async () => {
      worker.wake();
      return claims >= before + 2;
    });
  };
  return {
    db,
    inputs,
    worker,
    account,
    create,
    job,
    prepared,
    preparing,
    nextClaim,
    timesPrepared: () => timesPrepared,
  };
}

test('a job with an inline image or an image URL is prepared once the decoded image is stored', async () => {
  const { inputs, create, prepared, job, timesPrepared } = await setUp();
  const url = await site((_request, response) => response.end(ballPhoto()));
  const expected = await decode(ballPhoto());
  for (const id of [await create(ballPhoto()), await create(url)]) {
    await prepared(id);
    expect(await job(id)).toMatchObject({ status: 'QUEUED', progress: 25, attempt: 0, lease_token: null });
    const stored = unpack(await inputs.read(id, 'front'));
    expect(decodedPhoto(stored as RawImage)).toEqual(expected);
  }
  await until(async () => timesPrepared() === 2);
});

test('all photos of a job are prepared, and one that an earlier attempt has prepared is not decoded again', async () => {
  const { db, inputs, account, job, prepared } = await setUp();
  const url = await site((_request, response) => response.end(ballPhoto(90)));
  const id = newUlid();
  await inputs.put(id, 'front', packReceived(ballPhoto(80)));
  await inputs.put(id, 'right', packPixels(ballPixels(100)));
  const photos = [
    { side: 'front', url: null },
    { side: 'left', url },
    { side: 'right', url: null },
  ] as const;
  await newJob(db, account, { id, prepared: 0, ...photoColumns(photos) });
  await prepared(id);
  const stored = async (side: PhotoSide) => {
    const { pixels, ...image } = unpack(await inputs.read(id, side)) as ReturnType<typeof ballPixels>;
    return { ...image, pixels: Buffer.from(pixels) };
  };
  expect(await Promise.all([stored('front'), stored('left'), stored('right')])).toEqual(
    [80, 90, 100].map((size) => ballPixels(size)),
  );
  expect(await job(id)).toMatchObject({ status: 'QUEUED', attempt: 0 });
});

test.each<[string, () => Promise<string> | string, string, RegExp]>([
  [
    'cannot be fetched',
    () => site((_, response) => response.writeHead(404).end()),
    'image_fetch_failed',
    /^Photo of the back: .* HTTP 404$/,
  ],
  ['is a bomb', () => asDataUri(bomb()), 'image_too_large', /^Photo of the back: The image is 20000 x 20000 pixels/],
  [
    'is not an image',
    () => asDataUri(Buffer.from('<html>')),
    'image_invalid',
    /^Photo of the back: The file is .* Send a PNG/,
  ],
])('a job fails if the photo of one side %s, and the message names the side', async (_, photo, code, message) => {
  const { db, inputs, account, job } = await setUp();
  const id = newUlid();
  const url = await photo();
  const isRemote = url.startsWith('http');
  await inputs.put(id, 'front', packReceived(ballPhoto()));
  if (!isRemote) await inputs.put(id, 'back', packReceived(Buffer.from(url.split(',')[1]!, 'base64')));
  const back = { side: 'back', url: isRemote ? url : null } as const;
  await newJob(db, account, { id, prepared: 0, ...photoColumns([{ side: 'front', url: null }, back]) });
  const failed = await until(async () => (await job(id)).finished_at !== null && job(id));
  expect(failed).toMatchObject({ error_code: code, error_message: expect.stringMatching(message) });
});

test('a slow host of one of several photos holds one slot, and giving way fails the last attempt', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { db, account, create, job, prepared } = await setUp({ slots: 1 });
  let silentRequests = 0;
  const silentHost = await site(() => void silentRequests++);
  const url = await site((_request, response) => response.end(ballPhoto()));
  const photos = photoSides.map((side) => ({ side, url: side === 'right' ? silentHost : url }));
  const id = await newJob(db, account, { prepared: 0, attempt: 2, ...photoColumns(photos) });
  await until(async () => silentRequests === 1);
  vi.advanceTimersByTime(5_001);
  await prepared(await create(url, await newAccount(db, 'other')));
  expect(await job(id)).toMatchObject({
    error_code: 'image_fetch_failed',
    error_message: `Photo of the right side: ${slowHost}`,
  });
});

test('a photo that is stored after its job was deleted is erased', async () => {
  const { db, inputs, create } = await setUp();
  const replace = inputs.replace.bind(inputs);
  let stored = false;
  inputs.replace = async (id, side, image) => {
    await deleteJob(db, id, currentTime(db));
    await finishDeletion(db, { inputs, assets: new FolderAssetStore(temporaryFolder()) }, id);
    await replace(id, side, image);
    stored = true;
  };
  const id = await create(ballPhoto());
  await until(async () => stored);
  const isStored = () =>
    inputs.read(id, 'front').then(
      () => true,
      () => false,
    );
  await until(async () => !(await isStored()));
});

test('an inline image and an account that fetches nothing do not wait for silent hosts of four accounts', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { db, create, job, prepared } = await setUp();
  let silentRequests = 0;
  const silentHost = await site(() => void silentRequests++);
  const url = await site((_request, response) => response.end(ballPhoto()));
  const hostile: string[] = [];
  for (const slots of [4, 6, 7, 8]) {
    const account = await newAccount(db);
    for (let count = 0; count < 5; count++) hostile.push(await create(silentHost, account));
    await until(async () => silentRequests === slots);
  }
  const fifth = await newAccount(db, 'fifth');
  await prepared(await create(ballPhoto(), fifth));
  const remote = await create(url, fifth);
  vi.advanceTimersByTime(5_001);
  await prepared(remote);
  const jobs = () => Promise.all(hostile.map(job));
  await until(async () => (await jobs()).some(({ attempt, runner }) => attempt === 1 && runner === null));
  expect((await jobs()).filter(({ status }) => status !== 'PENDING')).toEqual([]);
});

// undici 7 ends the process if a host closes the connection while the response waits to be read.
test('an image is requested only once there is memory for it', async () => {
  const { db, create, prepared, preparing, job, nextClaim } = await setUp({ slots: 16 });
  const unfinished: ServerResponse[] = [];
  let requests = 0;
  const url = await site((_request, response) => {
    response.setHeader('connection', 'close');
    if (requests++ < 4) {
      response.flushHeaders();
      unfinished.push(response);
    } else {
      response.write(Buffer.alloc(200_000));
      response.end();
    }
  });
  const ids: string[] = [];
  for (let count = 0; count < 8; count++) ids.push(await create(url));
  await until(async () => unfinished.length === 4);
  await prepared(await create(ballPhoto(), await newAccount(db, 'other')));
  await nextClaim();
  expect(requests).toBe(4);
  expect(await preparing()).toHaveLength(4);

  for (const response of unfinished) response.end(ballPhoto());
  const statuses = async () => (await Promise.all(ids.map(async (id) => (await job(id)).status))).sort();
  const expected = [...Array(4).fill('FAILED'), ...Array(4).fill('QUEUED')];
  await until(async () => isDeepStrictEqual(await statuses(), expected));
});

test('no more jobs are prepared ahead than runners need', async () => {
  const { db, account, create, job, prepared, nextClaim } = await setUp({ slots: 1 });
  for (let count = 0; count < 2; count++) await prepared(await create(ballPhoto()));
  const third = await create(ballPhoto());
  await nextClaim();
  expect(await job(third)).toMatchObject({ prepared: 0, attempt: 0, lease_token: null });
  // The job of another account is next in the queue.
  await prepared(await create(ballPhoto(), await newAccount(db, 'other')));
  await nextClaim();
  expect(await job(third)).toMatchObject({ prepared: 0, attempt: 0, lease_token: null });
  await db.updateTable('jobs').set({ lease_expires_at: Number.MAX_SAFE_INTEGER }).where('prepared', '=', 1).execute();
  await prepared(third);
  expect((await job(third)).account_id).toBe(account);
});

test('a drain releases jobs in preparation without counting an attempt', async () => {
  const { create, job, preparing, worker } = await setUp();
  const id = await create(await site(() => {}));
  await until(async () => (await preparing()).length === 1);
  await worker.drain(60_000);
  expect(await job(id)).toMatchObject({ status: 'PENDING', attempt: 0, lease_token: null, runner: null });
});

test.skipIf(process.platform === 'win32')(
  'when a file system does not respond, the jobs are released, and go on once it responds',
  async () => {
    const { db, account, inputs, create, job, worker } = await setUp({ fileTimeoutMs: 500 });
    const fetching = await create(await site(() => {}));
    const id = newUlid();
    // Reading a pipe blocks until another process writes.
    const path = join(inputs.folder, `${id}.front`);
    execFileSync('mkfifo', [path]);
    await newJob(db, account, { id, prepared: 0, image_urls: null, created_at: Date.now() });
    await until(async () => worker.filesHang);
    await until(async () => (await job(fetching)).attempt === 0 && (await job(fetching)).lease_token === null);
    expect(await job(id)).toMatchObject({ attempt: 0, lease_token: null, lease_expires_at: expect.any(Number) });
    expect(await job(fetching)).toMatchObject({ attempt: 0, lease_token: null, lease_expires_at: null });
    closeSync(openSync(path, 'r+'));
    await until(async () => !worker.filesHang);
    await until(async () => (await job(fetching)).lease_token !== null);
  },
);
