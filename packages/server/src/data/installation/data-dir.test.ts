import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/kit.js';
import { ConfigError } from '../../base/errors.js';
import { openDataDir } from './data-dir.js';

test.each([
  ['the data directory', (data: string) => data],
  ['the folder above it', (data: string) => dirname(data)],
  ['the root of the disk', () => '/'],
  ['the images of the jobs', (data: string) => join(data, 'inputs')],
  ['another folder in it', (data: string) => join(data, 'public', 'models')],
  ['a path back into it', (data: string) => join(data, 'assets', '..', 'inputs')],
])('assets in %s are refused with a message that names both folders', async (_name, pathFor) => {
  const dataDir = join(temporaryFolder(), 'data');
  const assets = pathFor(dataDir);
  await expect(openDataDir({ dataDir, assets })).rejects.toThrow(ConfigError);
  await expect(openDataDir({ dataDir, assets })).rejects.toThrow(
    `--assets (${assets}) must not contain the data directory (${dataDir})`,
  );
  expect(existsSync(join(dataDir, 'public'))).toBe(false);
});

test('a data directory behind a link to nothing is refused, and the message names its flag', async () => {
  const folder = temporaryFolder();
  symlinkSync(join(folder, 'unmounted'), join(folder, 'disk'));
  const dataDir = join(folder, 'disk', 'gen3d');
  await expect(openDataDir({ dataDir, assets: undefined })).rejects.toThrow(
    `${dataDir} cannot be a folder, because there is a file or a broken link in its place or above it. Choose another one with --data-dir`,
  );
});

test('symbolic links to the assets are resolved', async () => {
  const folder = temporaryFolder();
  const dataDir = join(folder, 'data');
  await openDataDir({ dataDir, assets: undefined });
  for (const [name, target] of [
    ['same', dataDir],
    ['above', folder],
    ['inputs', join(dataDir, 'inputs')],
  ] as const) {
    symlinkSync(target, join(folder, name));
    await expect(openDataDir({ dataDir, assets: join(folder, name) }), name).rejects.toThrow('must not contain');
  }
  symlinkSync(dataDir, join(folder, 'link'));
  await expect(openDataDir({ dataDir: join(folder, 'link'), assets: dataDir })).rejects.toThrow('must not contain');
});

test('assets in the default folder, in another folder and behind a link to one are accepted', async () => {
  const folder = temporaryFolder();
  const dataDir = join(folder, 'data');
  for (const assets of [undefined, join(dataDir, 'assets'), join(folder, 'data-assets'), join(folder, 'a', 'b')]) {
    expect(existsSync((await openDataDir({ dataDir, assets })).assets)).toBe(true);
  }
  mkdirSync(join(folder, 'big'));
  symlinkSync(join(folder, 'big'), join(folder, 'link'));
  expect((await openDataDir({ dataDir, assets: join(folder, 'link') })).assets).toBe(join(folder, 'link'));
});
