import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type PhotoSide, photoSides } from '@gen3d/schema/rules';
import { describe, expect, test } from 'vitest';
import { temporaryFolder, until } from '../../../test/kit.js';
import { keysIn, sharedS3 } from '../../../test/s3/kit.js';
import { S3InputStore } from '../../cluster/s3/s3-input-store.js';
import { FolderInputStore } from './folder-store.js';
import { type InputStore, UnreadableImageError } from './input-store.js';

const image = Buffer.from('image');
const later = () => Date.now() + 60_000;
const s3 = sharedS3();

const withoutSide = (name: string) => name.replace(/\.front$/, '');

interface EmptyStore {
  inputs: InputStore;
  /** The jobs whose images are stored, with the side of all but fronts. */
  stored: () => Promise<string[]>;
}

function emptyFolder(): EmptyStore {
  const inputs = new FolderInputStore(temporaryFolder());
  const stored = async () => readdirSync(inputs.folder).map(withoutSide).sort();
  return { inputs, stored };
}

function emptyBucket(): EmptyStore {
  const { bucket } = s3.emptyBucket({ pageSize: 2 });
  const stored = async () =>
    (await keysIn(bucket, 'inputs/')).map((key) => withoutSide(key.split('/')[1]!.replace(/\.[^.]*$/, ''))).sort();
  return { inputs: new S3InputStore(bucket), stored };
}

describe.each([
  { name: 'a folder', emptyStore: emptyFolder },
  { name: 'S3', emptyStore: emptyBucket },
])('in $name', ({ emptyStore }) => {
  test('a stored image reads back unchanged until it is removed', async () => {
    const { inputs, stored } = emptyStore();
    await inputs.put('job', 'front', image);
    await inputs.put('job2', 'front', Buffer.from('another'));
    expect(Buffer.from(await inputs.read('job', 'front')).toString()).toBe('image');
    await inputs.remove('job');
    await inputs.remove('job');
    expect(await stored()).toEqual(['job2']);
    await expect(inputs.read('job', 'front')).rejects.toMatchObject({
      name: UnreadableImageError.name,
      isMissing: true,
    });
  });

  test('a job’s images of several sides are stored, copied and prepared one by one, and removed together', async () => {
    const { inputs, stored } = emptyStore();
    for (const side of photoSides) await inputs.put('job', side, Buffer.from(side));
    await inputs.put('job2', 'left', image);
    await inputs.replace('job', 'back', Buffer.from('prepared'));
    await inputs.replace('fetched', 'front', Buffer.from('prepared as well'));
    await inputs.copy('job', 'back', 'new');
    const read = async (side: PhotoSide) => Buffer.from(await inputs.read('job', side)).toString();
    expect(await Promise.all(photoSides.map(read))).toEqual(['front', 'left', 'prepared', 'right']);
    await expect(inputs.read('new', 'left')).rejects.toMatchObject({ side: 'left', isMissing: true });
    await inputs.sweep(later(), async (jobId) => jobId !== 'new');
    expect(await stored()).toEqual(['fetched', 'job', 'job.back', 'job.left', 'job.right', 'job2.left']);
    expect(Buffer.from(await inputs.read('fetched', 'front')).toString()).toBe('prepared as well');
    await inputs.remove('job');
    expect(await stored()).toEqual(['fetched', 'job2.left']);
    for (const side of photoSides) await inputs.put('job', side, image);
    await inputs.erase('job');
    expect(await stored()).toEqual(['fetched', 'job2.left']);
  });

  test('a copy of an image is independent of the original, and as young as it is', async () => {
    const { inputs, stored } = emptyStore();
    await inputs.put('job', 'front', image);
    const copiedAt = Date.now();
    await inputs.copy('job', 'front', 'new');
    await inputs.replace('new', 'front', Buffer.from('prepared'));
    expect(Buffer.from(await inputs.read('job', 'front')).toString()).toBe('image');
    await inputs.copy('job', 'front', 'newer');
    await inputs.remove('job');
    // The store's clock may count whole seconds.
    await inputs.sweep(copiedAt - 1_000, async () => false);
    expect(await stored()).toEqual(['new', 'newer']);
    expect(Buffer.from(await inputs.read('newer', 'front')).toString()).toBe('image');
    await expect(inputs.copy('job', 'front', 'x')).rejects.toMatchObject({
      name: UnreadableImageError.name,
      isMissing: true,
    });
  });

  test('after concurrent replacements, one image is left', async () => {
    const { inputs } = emptyStore();
    await inputs.put('job', 'front', image);
    await Promise.all(Array.from({ length: 4 }, () => inputs.replace('job', 'front', Buffer.from('prepared'))));
    expect(Buffer.from(await inputs.read('job', 'front')).toString()).toBe('prepared');
  });

  test('a sweep removes old images that no open job needs, on every page', async () => {
    const { inputs, stored } = emptyStore();
    for (const job of ['a', 'b', 'open', 'y', 'z']) await inputs.put(job, 'front', image);
    await inputs.sweep(Date.now() - 60_000, async () => false);
    expect(await stored()).toHaveLength(5);
    await inputs.sweep(later(), async (jobId) => jobId === 'open');
    expect(await stored()).toEqual(['open']);
  });
});

test('an image that exists but cannot be read is not reported as missing', async () => {
  const inputs = new FolderInputStore(temporaryFolder());
  mkdirSync(join(inputs.folder, 'job.front'));
  await expect(inputs.read('job', 'front')).rejects.toMatchObject({
    name: UnreadableImageError.name,
    isMissing: false,
  });
});

test('the copy of an old image in a folder is not swept before its job exists', async () => {
  const inputs = new FolderInputStore(temporaryFolder());
  await inputs.put('job', 'front', image);
  utimesSync(join(inputs.folder, 'job.front'), 1, 1);
  await inputs.copy('job', 'front', 'new');
  await inputs.sweep(2_000, async () => false);
  expect(readdirSync(inputs.folder)).toContain('new.front');
});

test('a sweep of a folder removes old drafts', async () => {
  const inputs = new FolderInputStore(temporaryFolder());
  await inputs.put('young', 'front', image);
  writeFileSync(join(inputs.folder, '.open.front.1a2b3c'), image);
  utimesSync(join(inputs.folder, '.open.front.1a2b3c'), 1, 1);
  await inputs.sweep(2_000, async () => false);
  expect(readdirSync(inputs.folder)).toEqual(['young.front']);
});

test('a sweep of a folder continues when a file is removed meanwhile', async () => {
  const inputs = new FolderInputStore(temporaryFolder());
  for (const job of ['a', 'b', 'c']) await inputs.put(job, 'front', image);
  let checked = 0;
  await inputs.sweep(later(), async (jobId) => {
    checked++;
    for (const other of ['a', 'b', 'c']) if (other !== jobId) await inputs.remove(other);
    return false;
  });
  expect(checked).toBe(1);
  expect(readdirSync(inputs.folder)).toEqual([]);
});

describe('in S3', () => {
  test('an image has an unguessable key and no cache headers', async () => {
    const { bucket, url } = s3.emptyBucket();
    await new S3InputStore(bucket).put('job', 'front', image);
    const [key] = await keysIn(bucket);
    expect(key).toMatch(/^inputs\/job\.front\.[\w-]{22}$/);
    expect((await fetch(url + key)).headers.get('cache-control')).toBeNull();
  });

  test('an image whose first write succeeded without a response is stored once', async () => {
    const { bucket } = s3.emptyBucket();
    s3.proxy().plan(/^PUT/, 'cut after', { status: 503, code: 'SlowDown' });
    await new S3InputStore(bucket).put('job', 'front', image);
    expect(await keysIn(bucket)).toHaveLength(1);
  });

  test('an image that was stored although its response was lost is removed', async () => {
    const { bucket } = s3.emptyBucket();
    s3.proxy().plan(/^PUT/, 'cut after', { status: 403, code: 'AccessDenied' });
    await expect(new S3InputStore(bucket).put('job', 'front', image)).rejects.toThrow('do not permit writing');
    await until(async () => (await keysIn(bucket)).length === 0);
  });
});
