import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, open, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { temporaryFolder } from '../../engine/src/temporary-folder.fixture.js';
import { findTarget } from '../src/files/target.js';
import { writeOutput } from '../src/files/write-file.js';
import { modelPath, planOutputs } from '../src/jobs/output-file.js';
import { Folders } from '../src/mcp/folders.js';

test.each([
  ['cup.jpg', 'cup.glb'],
  ['photos/red.cup.jpeg', join('photos', 'red.cup.glb')],
  ['photos/cup', join('photos', 'cup.glb')],
  ['PHOTO.JFIF', 'PHOTO.glb'],
  ['e\u0301te\u0301 mug (1).jpg', 'e\u0301te\u0301 mug (1).glb'],
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
  beforeEach(() => {
    folder = temporaryFolder();
  });
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
    ['in a file instead of a folder', 'afile/x.glb', /because a part of its path is a file/],
    ['in a folder that cannot be created', '/proc/models/', /Cannot create the folder/],
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

  test('go where a link points, and the link stays', async () => {
    await mkdir(join(folder, 'models'));
    await writeFile(join(folder, 'models', 'v1.glb'), 'old');
    await symlink('models/v1.glb', join(folder, 'latest.glb'));
    await symlink('latest.glb', join(folder, 'twice.glb'));
    await symlink('models', join(folder, 'linked'));

    await expect(planOutputs(['x.glb'], { output: join(folder, 'latest.glb') })).rejects.toThrow(/already exists/);
    await writeOutput(join(folder, 'twice.glb'), content, true);
    await writeOutput(join(folder, 'linked', 'v3.glb'), content);
    expect((await readdir(join(folder, 'models'))).sort()).toEqual(['v1.glb', 'v3.glb']);
    expect(await readFile(join(folder, 'models', 'v1.glb'), 'utf8')).toBe('new');
    expect((await readdir(folder)).sort()).toEqual(['latest.glb', 'linked', 'models', 'twice.glb']);
  });

  test('are refused before a job is created where links lead back to themselves, to nothing, or to another result', async () => {
    await symlink('b.glb', join(folder, 'a.glb'));
    await symlink('a.glb', join(folder, 'b.glb'));
    await expect(planOutputs(['x.glb'], { output: join(folder, 'a.glb') })).rejects.toThrow(
      /its links lead back to it/,
    );
    await rm(join(folder, 'b.glb'));
    await expect(planOutputs(['x.glb'], { output: join(folder, 'a.glb') })).rejects.toThrow(
      /it is a link to a file that does not exist/,
    );
    await writeFile(join(folder, 'b.glb'), '');
    const both = { output: folder, force: true };
    await expect(planOutputs(['a.glb', 'b.glb'], both, ['a.jpg', 'b.jpg'])).rejects.toThrow(
      /a\.jpg and b\.jpg would both be written/,
    );
  });

  test('keep the mode and the owner of the file they replace', async () => {
    const path = join(folder, 'cup.glb');
    await writeFile(path, 'old, and longer');
    await chmod(path, 0o640);
    if (process.getuid?.() === 0) await chown(path, 1234, 1235);
    const before = await stat(path);
    await writeOutput(path, content, true);
    const { mode, uid, gid } = await stat(path);
    expect({ mode, uid, gid }).toEqual({ mode: before.mode, uid: before.uid, gid: before.gid });
    expect(await readFile(path, 'utf8')).toBe('new');
  });

  test('replace a file in one step: a program that has it open reads all of the old one', async () => {
    const path = join(folder, 'cup.glb');
    await writeFile(path, 'old, and longer');
    const reader = await open(path);
    onTestFinished(() => reader.close());
    await writeOutput(path, content, true);
    expect(await reader.readFile('utf8')).toBe('old, and longer');
    expect(await readFile(path, 'utf8')).toBe('new');
  });

  test('do not replace a read-only file, even with force', async () => {
    const path = join(folder, 'cup.glb');
    await writeFile(path, 'precious', { mode: 0o444 });
    await expect(planOutputs(['x.glb'], { output: path, force: true })).rejects.toThrow(/it is read-only/);
    await expect(writeOutput(path, content, true)).rejects.toThrow(/it is read-only/);
    expect(await readFile(path, 'utf8')).toBe('precious');
  });

  test.each([
    ['of 255 bytes', 'x'.repeat(251)],
    ['of 255 bytes in Japanese', `${'モデル'.repeat(27)}モabcde`],
  ])('may have a name %s', async (_, name) => {
    const path = join(folder, `${name}.glb`);
    expect(Buffer.byteLength(`${name}.glb`)).toBe(255);
    expect(await planOutputs(['x.glb'], { output: path })).toEqual([path]);
    await writeOutput(path, content);
    await writeOutput(path, content, true);
    expect(await readdir(folder)).toEqual([`${name}.glb`]);
  });

  test.each([
    ['the model', `${'x'.repeat(252)}.glb`, {}],
    ['the texture of an OBJ', `${'x'.repeat(250)}.obj`, {}],
    ['a level of detail', `${'x'.repeat(250)}.glb`, { lod: '1' }],
  ])('are refused before a job is created if the name of %s is too long', async (_, name, options) => {
    await expect(planOutputs(['x.glb'], { output: join(folder, name), ...options })).rejects.toThrow(
      /name is too long/,
    );
  });

  test.each([
    ['cup.mtl', 'cup.obj', {}],
    ['cup-texture.jpg', 'cup.obj', {}],
    ['my_cup.mtl', 'my cup.obj', {}],
    ['cup.lod2.glb', 'cup.glb', { lod: '2' }],
  ])('are refused before a job is created if %s would be overwritten', async (existing, name, options) => {
    await writeFile(join(folder, existing), 'precious');
    const plan = (force: boolean) => planOutputs(['x.glb'], { output: join(folder, name), force, ...options });
    await expect(plan(false)).rejects.toThrow(`${existing} already exists`);
    expect(await plan(true)).toEqual([join(folder, name)]);
  });

  describe.skipIf(process.platform === 'win32')('to what is not a file', () => {
    const isRoot = process.getuid?.() === 0;

    test('go into a pipe that a program reads, which stays one', async () => {
      const path = join(folder, 'pipe');
      execFileSync('mkfifo', [path]);
      expect(await planOutputs(['x.glb'], { output: path })).toEqual([path]);
      const large = new Uint8Array(300_000).fill(7);
      const reader = spawn('cat', [path], { stdio: ['ignore', 'pipe', 'ignore'] });
      const read = buffer(reader.stdout);
      await vi.waitFor(() => writeOutput(path, large, true));
      expect((await read).equals(large)).toBe(true);
      expect((await stat(path)).isFIFO()).toBe(true);
    });

    test('say that no program reads a pipe or a socket', async () => {
      const [pipe, socket] = [join(folder, 'pipe'), join(folder, 'socket')];
      execFileSync('mkfifo', [pipe]);
      const server = createServer().listen(socket);
      onTestFinished(() => void server.close());
      await once(server, 'listening');
      for (const path of [pipe, socket]) {
        await expect(writeOutput(path, content, true)).rejects.toThrow('because no program reads it');
      }
      expect((await stat(socket)).isSocket()).toBe(true);
    });

    test.runIf(isRoot)('go into a device, which stays one', async () => {
      const path = join(folder, 'null');
      execFileSync('mknod', [path, 'c', '1', '3']);
      await symlink('null', join(folder, 'link.glb'));
      for (const output of [path, join(folder, 'link.glb'), '/dev/null']) {
        expect(await planOutputs(['x.glb'], { output, force: true })).toEqual([output]);
        await writeOutput(output, content, true);
        expect((await stat(output)).isCharacterDevice()).toBe(true);
      }
      expect(await planOutputs(['x-thumbnail.jpg'], { output: path })).toEqual([path]);
      expect((await readdir(folder)).sort()).toEqual(['link.glb', 'null']);
    });

    test('say why a device refuses them', async () => {
      await expect(writeOutput('/dev/full', content, true)).rejects.toThrow(
        'Cannot write /dev/full, because the disk is full',
      );
    });

    test.runIf(isRoot)('never go onto a disk', async () => {
      const path = join(folder, 'disk');
      execFileSync('mknod', [path, 'b', '7', '250']);
      await expect(planOutputs(['x.glb'], { output: path, force: true })).rejects.toThrow(/it is a disk/);
    });
  });

  test.each(['file://%%', 'file:///cup%2F.glb'])(
    'of an assistant cannot be %s, which is not the URL of a file on this machine',
    async (url) => {
      const folders = await Folders.open([folder]);
      const message = `${url} is not the URL of a file on this machine. Pass a path`;
      await expect(folders.future(url)).rejects.toThrow(message);
      await expect(folders.existing(url)).rejects.toThrow(message);
    },
  );

  test('of an assistant cannot leave its folders through a link', async () => {
    const inside = join(folder, 'inside');
    await mkdir(inside);
    await symlink('../outside.glb', join(inside, 'cup.glb'));
    const folders = await Folders.open([inside]);
    await expect(folders.future('cup.glb')).rejects.toThrow(/is a link to a file that does not exist/);
    await writeFile(join(folder, 'outside.glb'), '');
    await expect(folders.future('cup.glb')).rejects.toThrow(/is outside/);
    expect(await folders.future('mug.glb')).toBe((await findTarget(join(inside, 'mug.glb'))).path);
    await expect(folders.future('.')).rejects.toThrow('. is a folder');
    await expect(folders.existing('.')).rejects.toThrow('. is not a file');
    await expect(folders.existing('..')).rejects.toThrow(/is outside/);
  });
});
