import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { modelPath, planOutputs, writeOutput } from '../src/jobs/output-file.js';

test.each([
  ['cup.jpg', 'cup.glb'],
  ['photos/red.cup.jpeg', join('photos', 'red.cup.glb')],
  ['photos/cup', join('photos', 'cup.glb')],
  ['-', 'model.glb'],
  ['data:image/png;base64,AAAA', 'model.glb'],
  ['https://shop.example/img/cup.jpg?size=2', 'cup.glb'],
  ['https://shop.example/', 'model.glb'],
  ['https://shop.example/..%2f..%2fetc%2fpasswd', 'etc-passwd.glb'],
  ['https://shop.example/K%C3%A4ffchen%20%E8%8C%B6.jpg', 'Käffchen 茶.glb'],
  ['https://shop.example/.bashrc', 'bashrc.glb'],
  ['https://shop.example/a%00b;rm%20-rf.png', 'a b;rm -rf.glb'],
])('the model of %s is %s', (image, path) => {
  expect(modelPath(image)).toBe(path);
});

describe('output files', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gen3d-out-'));
  });
  afterEach(() => rm(folder, { recursive: true }));
  const content = new TextEncoder().encode('new');

  test('keep a file that was created during the job, and leave no temporary file', async () => {
    const path = join(folder, 'cup.glb');
    await writeFile(path, 'precious');
    await expect(writeOutput(path, content)).rejects.toThrow(/already exists/);
    expect(await readFile(path, 'utf8')).toBe('precious');
    expect(await readdir(folder)).toEqual(['cup.glb']);
  });

  test('replace an existing file with force', async () => {
    const path = join(folder, 'cup.glb');
    await writeFile(path, 'old');
    await writeOutput(path, content, true);
    expect(await readFile(path, 'utf8')).toBe('new');
    expect(await readdir(folder)).toEqual(['cup.glb']);
  });

  test('go into a folder given with -o, which is created if its path ends in a slash', async () => {
    expect(await planOutputs(['photos/cup.glb'], { output: folder })).toEqual([join(folder, 'cup.glb')]);
    const created = join(folder, 'models/');
    expect(await planOutputs(['cup.glb'], { output: created })).toEqual([join(created, 'cup.glb')]);
    expect(await readdir(folder)).toEqual(['models']);
  });

  test.each([
    ['in a file instead of a folder', 'afile/x.glb', /because it is a file/],
    ['in a folder that cannot be created', 'afile/models/', /Cannot create the folder/],
    ['in a folder that is not writable', '/proc/x.glb', /Cannot write to \/proc/],
  ])('%s are rejected', async (_, output, message) => {
    await writeFile(join(folder, 'afile'), '');
    await expect(
      planOutputs(['cup.glb'], { output: resolve(folder, output) + (output.endsWith('/') ? '/' : '') }),
    ).rejects.toThrow(message);
    expect(await readdir(folder)).toEqual(['afile']);
  });

  test('leave no new folder when they are rejected', async () => {
    const output = join(folder, 'new', 'models');
    await expect(planOutputs(['a/cup.glb', 'b/cup.glb'], { output })).rejects.toThrow(/would both be written/);
    expect(await readdir(folder)).toEqual([]);
  });
});
