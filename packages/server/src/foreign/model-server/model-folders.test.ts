import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { temporaryFolder } from '../../../test/kit.js';
import { TemporaryFailure } from '../../work/stage-failures.js';
import { ModelFolders, removeLeftFolders } from './model-folders.js';

const full = () => Promise.reject(Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }));

test('the folder of a killed process is removed, and that of a running one is not', async () => {
  const temporary = temporaryFolder();
  const { pid: killed } = spawnSync(process.execPath, ['--version']);
  for (const name of [`gen3d-model-${killed}-a`, `gen3d-model-${process.ppid}-b`, 'gen3d-other-1-c'])
    await mkdir(join(temporary, name));
  await new ModelFolders(temporary).use(async (folder) => {
    await writeFile(join(folder, 'received'), 'model');
    await removeLeftFolders(temporary);
    expect(existsSync(join(folder, 'received'))).toBe(true);
  });
  expect((await readdir(temporary)).sort()).toEqual([`gen3d-model-${process.ppid}-b`, 'gen3d-other-1-c'].sort());
});

test('after a model did not fit, another one is made only once there is more space', async () => {
  const temporary = temporaryFolder();
  let freeBytes = 20e6;
  const folders = new ModelFolders(temporary);
  vi.spyOn(folders, 'freeBytes').mockImplementation(async () => freeBytes);
  expect(await folders.problem()).toBeUndefined();
  await expect(folders.use(full)).rejects.toThrow(TemporaryFailure);
  expect((await folders.problem())?.message).toBe(`the temporary folder ${temporary} has no space for a model`);
  freeBytes = 40e6;
  expect(await folders.problem()).toBeUndefined();
  expect(await readdir(temporary)).toEqual([]);
});
