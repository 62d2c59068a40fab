import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { warningMessages } from '@gen3d/schema/rules';
import { beforeAll, describe, expect, test } from 'vitest';
import { bin, discPng, testFolder } from './run.js';

// End to end: command line, SDK, HTTP, SQLite, runner and engine. `inflate` and transparent photos keep it fast.
const { gen3d, path, run, serve, spawned } = testFolder();

beforeAll(async () => {
  await mkdir(path('photos'));
  for (const name of ['cup.png', 'photos/bowl.png', 'photos/hat.png']) await writeFile(path(name), discPng());
  await writeFile(path('empty.png'), discPng(64, 0));
  await serve('--bundle', 'inflate');
});

const isGlb = async (...names: string[]) => (await readFile(path(...names))).subarray(0, 4).toString() === 'glTF';
const leftovers = async () => (await readdir(path())).filter((name) => name.endsWith('.part'));

describe('create --wait', () => {
  test('writes the model next to its photo and prints its path, and no states in a pipe', async () => {
    const { code, stdout, stderr } = await gen3d(['create', 'photos/bowl.png', '--wait']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'photos/bowl.glb\n' });
    expect(stderr.split('\n')).toEqual([
      expect.stringMatching(/^✔ bowl\.png {2}[\d.]+ [kM]B, [\d.]+ s/),
      `warning: bowl.png: ${warningMessages.low_resolution}`,
      '',
    ]);
    expect(await isGlb('photos/bowl.glb')).toBe(true);
    expect(await leftovers()).toEqual([]);
  });

  test('prints only the task with --json, and writes model.glb for stdin', async () => {
    const { code, stdout } = await gen3d(['create', '-', '--wait', '--json'], { input: discPng() });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'SUCCEEDED', progress: 100, error: null });
    expect(await isGlb('model.glb')).toBe(true);
  });

  test('says what there is to say about a model for printing also with --json', async () => {
    const { stdout, stderr } = await gen3d(['create', 'cup.png', '--wait', '--json', '-o', 'print.stl']);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'SUCCEEDED' });
    expect(stderr).toMatch(/Print check: closed/);
  });

  test('converts HEIC photos from a path and from stdin, and explains a damaged one', async () => {
    const heic = await readFile(fileURLToPath(new URL('./photos/teapot.heic', import.meta.url)));
    await writeFile(path('teapot.heic'), heic);
    await writeFile(path('damaged.heic'), heic.subarray(0, 9_000));
    expect(await gen3d(['create', 'teapot.heic'])).toMatchObject({ code: 0, stderr: '' });
    expect(await gen3d(['create', '-'], { input: heic })).toMatchObject({ code: 0, stderr: '' });
    // In a process of its own: libheif prints to stdout.
    const { code, stdout, stderr } = await spawned(['create', 'damaged.heic']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/damaged\.heic is a HEIC photo, and cannot be converted here: .* Send a PNG, JPEG or WebP/);
  });

  test('writes several models into a folder, despite a failed photo', async () => {
    const { code, stdout, stderr } = await gen3d([
      'create',
      'photos/bowl.png',
      'empty.png',
      'photos/hat.png',
      '--wait',
      '-o',
      'out',
    ]);
    expect(stderr).toMatch(/empty\.png.* failed with no_foreground: /);
    expect(stderr).toMatch(/2 models, 1 failed/);
    expect(stdout.trimEnd().split('\n').sort()).toEqual(['out/bowl.glb', 'out/hat.glb']);
    expect(code).toBe(1);
    expect(existsSync(path('out/empty.glb'))).toBe(false);
  });
});

test('get --wait resumes waiting, and download gets the model and the thumbnail again', async () => {
  await writeFile(path('red cup.png'), discPng());
  const id = (await gen3d(['create', 'red cup.png'])).stdout.trim();
  expect(await gen3d(['get', id, '--wait', '-o', 'resumed.glb'])).toMatchObject({
    code: 0,
    stdout: 'resumed.glb\n',
  });
  expect(await isGlb('resumed.glb')).toBe(true);
  expect(await gen3d(['download', id])).toMatchObject({ code: 0, stdout: 'red cup.glb\n' });
  expect(await gen3d(['download', id, '--thumbnail'])).toMatchObject({ code: 0, stdout: 'red cup-thumbnail.jpg\n' });
  const thumbnail = await readFile(path('red cup-thumbnail.jpg'));
  expect(thumbnail.subarray(0, 3)).toEqual(Buffer.from([0xff, 0xd8, 0xff]));
  const piped = await run('sh', [
    '-c',
    '"$0" "$1" download "$2" --thumbnail -o - > piped.jpg',
    process.execPath,
    bin,
    id,
  ]);
  expect({ ...piped, content: await readFile(path('piped.jpg')) }).toMatchObject({ code: 0, content: thumbnail });
  const wrong = await gen3d(['download', id, '--thumbnail', '-o', 'thumbnail.glb']);
  expect(wrong).toMatchObject({ code: 2, stderr: 'error: Cannot write thumbnail.glb. Use the extension .jpg\n' });
});
