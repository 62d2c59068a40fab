import { mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { FolderAssetStore } from '../src/data/assets/folder-store.js';
import { startServer } from './kit.js';

async function withAsset() {
  const server = await startServer();
  const folder = join(server.config.dataDir, 'assets');
  const keys = await new FolderAssetStore(folder).put(
    '01ARZ3NDEKTSV4RRFFQ69G5FAV',
    Buffer.from('glTF model'),
    Buffer.from('jpeg'),
  );
  const get = (key: string, headers: Record<string, string> = {}) => fetch(`${server.url}/assets/${key}`, { headers });
  return { server, folder, keys, get };
}

/** Requests a path without the normalization of fetch. */
const rawStatus = (url: string, path: string) =>
  new Promise<number | undefined>((resolve, reject) => {
    request(url, { path }, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end();
  });

describe('an asset', () => {
  test('is served without a key, cacheable without limit, to every origin', async () => {
    const { keys, get } = await withAsset();
    const model = await get(keys.modelKey);
    expect(model.status).toBe(200);
    expect(model.headers.get('content-type')).toBe('model/gltf-binary');
    expect(model.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(model.headers.get('access-control-allow-origin')).toBe('*');
    expect(model.headers.get('cross-origin-resource-policy')).toBe('cross-origin');
    expect(await model.text()).toBe('glTF model');
    expect((await get(keys.thumbnailKey)).headers.get('content-type')).toBe('image/jpeg');
  });

  test('supports range requests', async () => {
    const { keys, get } = await withAsset();
    const part = await get(keys.modelKey, { range: 'bytes=5-9' });
    expect(part.status).toBe(206);
    expect(part.headers.get('content-range')).toBe('bytes 5-9/10');
    expect(await part.text()).toBe('model');
    expect((await get(keys.modelKey, { range: 'bytes=99-' })).status).toBe(416);
  });
});

test('folders, partly written files, and paths outside the folder are 404', async () => {
  const { server, folder, keys } = await withAsset();
  mkdirSync(join(folder, 'x'));
  writeFileSync(join(folder, 'x', '.model.glb.abc'), 'half');
  const job = keys.modelKey.split('/')[0];
  for (const path of [
    '',
    `${job}`,
    `${job}/`,
    'x/.model.glb.abc',
    '../server.key',
    '..%2fserver.key',
    '%2e%2e/server.key',
  ]) {
    expect(await rawStatus(server.url, `/assets/${path}`), path).toBe(404);
  }
});

test('a file in the folder that does not have the name of an asset is 404', async () => {
  const { server, folder } = await withAsset();
  mkdirSync(join(folder, 'inputs', 'x'), { recursive: true });
  for (const path of ['server.key', 'gen3d.sqlite', 'inputs/JOB', 'inputs/x/other.glb', 'model.glb', 'x/model.glb']) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), 'secret');
    expect(await rawStatus(server.url, `/assets/${path}`), path).toBe(404);
  }
});
