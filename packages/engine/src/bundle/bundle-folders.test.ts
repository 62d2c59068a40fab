import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { MissingBundleError } from '../base/errors.js';
import { writeBallBundle } from './bundle.fixture.js';
import { bundleFolders } from './bundle-folders.js';
import { findBundle, installedBundles } from './load-bundle.js';

let folder: string;
/** The folder of a package, whose name differs from its bundle's. */
let modelPackage: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gen3d-folders-'));
  await writeBallBundle(folder, 'ball', { kind: 'planes' });
  modelPackage = join(folder, 'model-ball');
  await rename(join(folder, 'ball'), modelPackage);
});
afterEach(() => rm(folder, { recursive: true }));

test('a searched folder that is itself a bundle has the name in its manifest', async () => {
  expect(await bundleFolders([join(folder, 'missing'), modelPackage])).toEqual(new Map([['ball', modelPackage]]));
  expect(await findBundle('ball', [modelPackage])).toMatchObject({ directory: modelPackage });
});

test('a package with a damaged manifest is listed with the reason', async () => {
  await writeFile(join(modelPackage, 'manifest.json'), '{');
  expect(await installedBundles([modelPackage])).toEqual([
    { name: 'ball', directory: modelPackage, problem: expect.stringContaining('manifest.json is not valid JSON') },
  ]);
});

test('the error for a missing bundle of gen3d names the package that has it', async () => {
  const finding = findBundle('isnet', [folder]);
  await expect(finding).rejects.toThrow('The bundle isnet is not installed. `npm install @gen3d/model-isnet` adds it');
  await expect(finding).rejects.toThrow(MissingBundleError);
});
