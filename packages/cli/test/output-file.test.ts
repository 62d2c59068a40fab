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
  ['https://shop.example/.bashrc', 'bashrc.glb'],
  ['https://shop.example/a%00b;rm%20-rf.png', 'a-b-rm--rf.glb'],
])('the model of %s is %s', (image, path) => {
  expect(modelPath(image)).toBe(path);
});

describe('writing', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gen3d-out-'));
  });
  afterEach(() => rm(folder, { recursive: true }));
  const content = new TextEncoder().encode('new');

  test('a file that appeared during the job is kept, and nothing half-written stays', async () => {
    const path = join(folder, 'cup.glb');
    await writeFile(path, 'precious');
    await expect(writeOutput(path, content)).rejects.toThrow(/exists already/);
    expect(await readFile(path, 'utf8')).toBe('precious');
    expect(await readdir(folder)).toEqual(['cup.glb']);
  });

  test('force replaces it', async () => {
    const path = join(folder, 'cup.glb');
    await writeFile(path, 'old');
    await writeOutput(path, content, true);
    expect(await readFile(path, 'utf8')).toBe('new');
    expect(await readdir(folder)).toEqual(['cup.glb']);
  });

  test('a folder given with -o takes one model as well as several, and is made if it ends in a slash', async () => {
    expect(await planOutputs(['photos/cup.glb'], { output: folder })).toEqual([join(folder, 'cup.glb')]);
    const made = join(folder, 'models/');
    expect(await planOutputs(['cup.glb'], { output: made })).toEqual([join(made, 'cup.glb')]);
    expect(await readdir(folder)).toEqual(['models']);
  });

  test.each([
    ['a file in place of the folder', 'afile/x.glb', /because it is a file/],
    ['a folder that cannot be', 'afile/models/', /cannot be made/],
    ['a folder that takes no files', '/proc/x.glb', /Nothing can be written into \/proc/],
  ])('%s is noticed before anything is sent', async (_, output, words) => {
    await writeFile(join(folder, 'afile'), '');
    await expect(
      planOutputs(['cup.glb'], { output: resolve(folder, output) + (output.endsWith('/') ? '/' : '') }),
    ).rejects.toThrow(words);
    expect(await readdir(folder)).toEqual(['afile']);
  });

  test('what is refused leaves no new folder behind', async () => {
    const output = join(folder, 'new', 'models');
    await expect(planOutputs(['a/cup.glb', 'b/cup.glb'], { output })).rejects.toThrow(/would both be/);
    expect(await readdir(folder)).toEqual([]);
  });
});
