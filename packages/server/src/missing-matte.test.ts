import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { expect, test, vi } from 'vitest';
import { temporaryFolder } from '../test/kit.js';
import { httpManifest } from '../test/model-server-kit.js';
import { loadConfig } from './config.js';
import { warnOfMissingMatte } from './missing-matte.js';

test('a damaged background remover is named at the start, unless a model server replaces it', async () => {
  const folder = temporaryFolder();
  const bundle = async (name: string, manifest: object) => {
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, 'manifest.json'), JSON.stringify(manifest));
  };
  await bundle('remover', {});
  await bundle('outside', httpManifest('http://127.0.0.1:9/generate'));
  const warnings = async (name: string) => {
    const warn = vi.fn();
    const config = loadConfig({ matte: 'remover', bundle: name }, { GEN3D_DATA_DIR: folder, GEN3D_MODELS_DIR: folder });
    await warnOfMissingMatte(config, { warn } as unknown as Logger);
    return warn.mock.calls.flat();
  };
  const sentence = /^Only photos with a transparent background become models\. .*remover.* is not a manifest/;
  expect(await warnings('inflate')).toEqual([expect.stringMatching(sentence)]);
  expect(await warnings('outside')).toEqual([]);
});
