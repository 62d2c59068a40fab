import { mkdirSync, readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder, until } from '../../../test/kit.js';
import { keysIn, sharedS3 } from '../../../test/s3/kit.js';
import { FolderInputStore } from './folder-store.js';
import type { InputStore } from './input-store.js';
import { S3InputStore } from './s3-store.js';
import { UnreadablePhotoError } from './unreadable.js';

const photo = Buffer.from('photo');
const later = () => Date.now() + 60_000;
const s3 = sharedS3();

interface EmptyStore {
  inputs: InputStore;
  /** Ids of the jobs whose photos are stored. */
  stored: () => Promise<string[]>;
}

function emptyFolder(): EmptyStore {
  const inputs = new FolderInputStore(temporaryFolder());
  return { inputs, stored: async () => readdirSync(inputs.folder).sort() };
}

function emptyBucket(): EmptyStore {
  const { bucket } = s3.emptyBucket({ pageSize: 2 });
  const stored = async () => (await keysIn(bucket, 'inputs/')).map((key) => key.split(/[/.]/)[1]!).sort();
  return { inputs: new S3InputStore(bucket), stored };
}

describe.each([
  { name: 'a folder', emptyStore: emptyFolder },
  { name: 'S3', emptyStore: emptyBucket },
])('in $name', ({ emptyStore }) => {
  test('a stored photo reads back as it was, until it is removed', async () => {
    const { inputs, stored } = emptyStore();
    await inputs.put('job', photo);
    await inputs.put('job2', Buffer.from('another'));
    expect(Buffer.from(await inputs.read('job')).toString()).toBe('photo');
    await inputs.remove('job');
    await inputs.remove('job');
    expect(await stored()).toEqual(['job2']);
    await expect(inputs.read('job')).rejects.toMatchObject({ name: UnreadablePhotoError.name, isMissing: true });
  });

  test('a prepared image takes the place of the original, or of nothing', async () => {
    const { inputs, stored } = emptyStore();
    await inputs.put('job', photo);
    await inputs.put('job2', Buffer.from('another'));
    await inputs.replace('job', Buffer.from('prepared'));
    await inputs.replace('fetched', Buffer.from('prepared as well'));
    expect(Buffer.from(await inputs.read('job')).toString()).toBe('prepared');
    expect(Buffer.from(await inputs.read('fetched')).toString()).toBe('prepared as well');
    expect(await stored()).toEqual(['fetched', 'job', 'job2']);
  });

  test('of two that replace an image concurrently, one stays', async () => {
    const { inputs } = emptyStore();
    await inputs.put('job', photo);
    await Promise.all(Array.from({ length: 4 }, () => inputs.replace('job', Buffer.from('prepared'))));
    expect(Buffer.from(await inputs.read('job')).toString()).toBe('prepared');
  });

  test('a sweep removes old photos that no open job needs, on every page', async () => {
    const { inputs, stored } = emptyStore();
    for (const job of ['a', 'b', 'open', 'y', 'z']) await inputs.put(job, photo);
    await inputs.sweep(Date.now() - 60_000, async () => false);
    expect(await stored()).toHaveLength(5);
    await inputs.sweep(later(), async (jobId) => jobId === 'open');
    expect(await stored()).toEqual(['open']);
  });
});

test('a photo that is there and cannot be read is not said to be missing', async () => {
  const inputs = new FolderInputStore(temporaryFolder());
  mkdirSync(join(inputs.folder, 'job'));
  await expect(inputs.read('job')).rejects.toMatchObject({ name: UnreadablePhotoError.name, isMissing: false });
});

test('a sweep of a folder removes old files that were only half written', async () => {
  const inputs = new FolderInputStore(temporaryFolder());
  for (const name of ['young', '.open.1a2b3c']) await inputs.put(name, photo);
  utimesSync(join(inputs.folder, '.open.1a2b3c'), 1, 1);
  await inputs.sweep(2_000, async () => false);
  expect(readdirSync(inputs.folder)).toEqual(['young']);
});

test('a sweep of a folder continues when a file vanishes, as at the end of its job', async () => {
  const inputs = new FolderInputStore(temporaryFolder());
  for (const job of ['a', 'b', 'c']) await inputs.put(job, photo);
  let asked = 0;
  await inputs.sweep(later(), async (jobId) => {
    asked++;
    for (const other of ['a', 'b', 'c']) if (other !== jobId) await inputs.remove(other);
    return false;
  });
  expect(asked).toBe(1);
  expect(readdirSync(inputs.folder)).toEqual([]);
});

describe('in S3', () => {
  test('a photo\u2019s key cannot be guessed from its job, and tells nothing to caches', async () => {
    const { bucket, url } = s3.emptyBucket();
    await new S3InputStore(bucket).put('job', photo);
    const [key] = await keysIn(bucket);
    expect(key).toMatch(/^inputs\/job\.[\w-]{22}$/);
    expect((await fetch(url + key)).headers.get('cache-control')).toBeNull();
  });

  test('a photo whose first write was done without an answer is stored once', async () => {
    const { bucket } = s3.emptyBucket();
    s3.proxy().plan(/^PUT/, 'cut after', { status: 503, code: 'SlowDown' });
    await new S3InputStore(bucket).put('job', photo);
    expect(await keysIn(bucket)).toHaveLength(1);
  });

  test('a photo that was stored although its answer was lost does not stay behind', async () => {
    const { bucket } = s3.emptyBucket();
    s3.proxy().plan(/^PUT/, 'cut after', { status: 403, code: 'AccessDenied' });
    await expect(new S3InputStore(bucket).put('job', photo)).rejects.toThrow('do not permit writing');
    await until(async () => (await keysIn(bucket)).length === 0);
  });
});
