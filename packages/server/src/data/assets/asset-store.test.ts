import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { assetFiles, temporaryFolder } from '../../../test/kit.js';
import { keysIn, sharedS3 } from '../../../test/s3/kit.js';
import { newUlid } from '../../base/ids.js';
import { S3AssetStore } from '../../cluster/s3/s3-asset-store.js';
import type { AssetStore, Outcome } from './asset-store.js';
import { FolderAssetStore } from './folder-store.js';

const model = Buffer.from('glTF');
const thumbnail = Buffer.from('jpeg');
const later = () => Date.now() + 60_000;
const s3 = sharedS3();

interface EmptyStore {
  store: AssetStore;
  has: (key: string) => Promise<boolean>;
  /** Stores a model by another way than the store, as a suspended process does. */
  write: (key: string) => Promise<void>;
  unsettled: () => Promise<string[]>;
}

function emptyFolder(): EmptyStore {
  const store = new FolderAssetStore(temporaryFolder());
  return {
    store,
    has: async (key) => existsSync(join(store.folder, key)),
    async write(key) {
      await mkdir(join(store.folder, dirname(key)), { recursive: true });
      await writeFile(join(store.folder, key), model);
    },
    unsettled: () => readdir(join(store.folder, '.unsettled')),
  };
}

function emptyBucket(): EmptyStore {
  const { bucket, url } = s3.emptyBucket({ pageSize: 2 });
  return {
    store: new S3AssetStore(bucket),
    has: async (key) => (await fetch(`${url}assets/${key}`)).ok,
    write: (key) => bucket.put(`assets/${key}`, model, { type: 'model/gltf-binary' }, 10_000),
    unsettled: () => keysIn(bucket, 'unsettled/'),
  };
}

describe.each([
  { name: 'a folder', emptyStore: emptyFolder },
  { name: 'S3', emptyStore: emptyBucket },
])('in $name', ({ emptyStore }) => {
  test('erasing a job removes all its attempts and no other job’s, and a later attempt is discarded', async () => {
    const { store, has, unsettled } = emptyStore();
    const [job, other] = [newUlid(), newUlid()];
    const kept = await store.put(job, model, thumbnail, Buffer.from('webp'));
    await store.keep(kept);
    const attempts = [kept, await store.put(job, model, thumbnail)];
    const another = await store.put(other, model, thumbnail);
    await store.erase(job);
    await store.erase(job);
    attempts.push(await store.put(job, model, thumbnail));
    await store.sweep(later(), async (id) => ({ finished: true, modelKey: id === job ? null : another.modelKey }));
    expect(await Promise.all(attempts.map(({ modelKey }) => has(modelKey)))).toEqual([false, false, false]);
    expect(await has(another.modelKey)).toBe(true);
    expect(await unsettled()).toEqual([]);
  });

  test('what an attempt still writes while its job is erased is removed by the sweep', async () => {
    const { store, has, write, unsettled } = emptyStore();
    const job = newUlid();
    // Its process is suspended before it writes the last file, and killed after that.
    const { modelKey, thumbnailKey } = await store.put(job, model, thumbnail);
    await store.erase(job);
    await write(modelKey);
    await store.sweep(later(), async () => ({ finished: true, modelKey: null }));
    expect(await Promise.all([modelKey, thumbnailKey].map(has))).toEqual([false, false]);
    expect(await unsettled()).toEqual([]);
  });

  describe('an attempt', () => {
    test('that lost the job removes its own files, and none of the winning attempt', async () => {
      const { store, has, unsettled } = emptyStore();
      const job = newUlid();
      const transparentThumbnail = Buffer.from('webp');
      const loser = await store.put(job, model, thumbnail, transparentThumbnail);
      const winner = await store.put(job, model, thumbnail, transparentThumbnail);
      await store.keep(winner);
      await store.discard(loser);
      expect(await Promise.all(assetFiles(winner.modelKey).map(has))).toEqual([true, true, true]);
      expect(await Promise.all(assetFiles(loser.modelKey).map(has))).toEqual([false, false, false]);
      expect(await unsettled()).toEqual([]);
    });

    test('has unguessable keys below its job', async () => {
      const { store } = emptyStore();
      const { modelKey, thumbnailKey } = await store.put('01ARZ3NDEKTSV4RRFFQ69G5FAV', model, thumbnail);
      expect(modelKey).toMatch(/^01ARZ3NDEKTSV4RRFFQ69G5FAV\/[\w-]{22}\/model\.glb$/);
      expect(thumbnailKey).toBe(modelKey.replace('model.glb', 'thumbnail.jpg'));
    });
  });

  test('the sample keeps its keys as long as its content is the same', async () => {
    const { store, has } = emptyStore();
    const first = await store.putSample(model, thumbnail);
    expect(await store.putSample(model, thumbnail)).toEqual(first);
    const other = await store.putSample(Buffer.from('glTF 2'), thumbnail);
    expect(other.modelKey).not.toBe(first.modelKey);
    expect(await Promise.all([first, other].map(({ modelKey }) => has(modelKey)))).toEqual([true, true]);
  });

  describe('the sweep', () => {
    test('keeps the files recorded with a finished job, and removes all others', async () => {
      const { store, has, unsettled } = emptyStore();
      const [done, failed] = [newUlid(), newUlid()];
      const crashed = await store.put(done, model, thumbnail);
      const recorded = await store.put(done, model, thumbnail);
      const useless = await store.put(failed, model, thumbnail);
      const outcomes: Record<string, Outcome> = {
        [done]: { finished: true, modelKey: recorded.modelKey },
        [failed]: { finished: true, modelKey: null },
      };
      await store.sweep(later(), async (id) => outcomes[id]);
      const left = await Promise.all([crashed, recorded, useless].map(({ modelKey }) => has(modelKey)));
      expect(left).toEqual([false, true, false]);
      expect(await unsettled()).toEqual([]);
    });

    test('keeps recent files, files of unfinished jobs, and files of jobs whose record was deleted', async () => {
      const { store, has, unsettled } = emptyStore();
      const [open, deleted] = [newUlid(), newUlid()];
      const running = await store.put(open, model, thumbnail);
      const old = await store.put(deleted, model, thumbnail);
      const outcomeOf = async (id: string) => (id === open ? { finished: false, modelKey: null } : undefined);
      await store.sweep(Date.now() - 60_000, async () => ({ finished: true, modelKey: null }));
      expect(await unsettled()).toHaveLength(2);
      await store.sweep(later(), outcomeOf);
      expect(await Promise.all([running, old].map(({ modelKey }) => has(modelKey)))).toEqual([true, true]);
      expect(await unsettled()).toHaveLength(1);
    });
  });
});

describe('in S3', () => {
  const job = newUlid();

  test('an object has its type, is marked as immutable, and is sent with its digest', async () => {
    const { bucket, url } = s3.emptyBucket();
    const { modelKey, thumbnailKey } = await new S3AssetStore(bucket).put(job, model, thumbnail);
    const response = await fetch(`${url}assets/${modelKey}`);
    expect(response.headers.get('content-type')).toBe('model/gltf-binary');
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect((await fetch(`${url}assets/${thumbnailKey}`)).headers.get('content-type')).toBe('image/jpeg');
    const { headers } = s3.proxy().seen.find(({ what }) => what.includes(modelKey))!;
    // SHA-256 of "glTF": once for the store, once for the signature; in the headers, which every server supports.
    const digest = 'x0+RlDl5JYKqTwsYjsKpKGdc2zunJ5d4HOtt+qhrMT8=';
    expect(headers['x-amz-checksum-sha256']).toBe(digest);
    expect(Buffer.from(String(headers['x-amz-content-sha256']), 'hex').toString('base64')).toBe(digest);
    expect(headers['x-amz-trailer']).toBeUndefined();
  });

  test('a partially stored attempt is removed by the sweep once its job is finished', async () => {
    const { bucket } = s3.emptyBucket();
    const store = new S3AssetStore(bucket);
    s3.proxy().plan(/thumbnail/, { status: 403, code: 'AccessDenied' });
    await expect(store.put(job, model, thumbnail)).rejects.toThrow('do not permit writing (s3:PutObject)');
    expect(await keysIn(bucket)).toHaveLength(2);
    await store.sweep(later(), async () => ({ finished: false, modelKey: null }));
    expect(await keysIn(bucket)).toHaveLength(2);
    await store.sweep(later(), async () => ({ finished: true, modelKey: null }));
    expect(await keysIn(bucket)).toEqual([]);
  });

  test('the sweep settles what could not be settled during an outage, and rejects if it cannot', async () => {
    const { bucket } = s3.emptyBucket();
    const store = new S3AssetStore(bucket);
    const kept = await store.put(job, model, thumbnail);
    const discarded = await store.put(job, model, thumbnail);
    s3.proxy().plan(/^DELETE/, ...Array(3).fill({ status: 403, code: 'AccessDenied' }));
    await store.keep(kept);
    await store.discard(discarded);
    expect(await keysIn(bucket)).toHaveLength(6);
    const outcomeOf = async () => ({ finished: true, modelKey: kept.modelKey });
    await expect(store.sweep(later(), outcomeOf)).rejects.toThrow('do not permit deleting (s3:DeleteObject)');
    await store.sweep(later(), outcomeOf);
    expect((await keysIn(bucket)).sort()).toEqual([`assets/${kept.modelKey}`, `assets/${kept.thumbnailKey}`]);
  });
});
