// Behavior that depends on the operating system, tested on any of them.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { win32 } from 'node:path';
import { describe, expect, test } from 'vitest';
import { failureOf } from '../src/exit/failure.js';
import { modelPath, pathKey } from '../src/jobs/output-file.js';
import { isInside, isOnOtherShare } from '../src/mcp/folders.js';
import { shellWord } from '../src/terminal/format.js';
import { bin, testFolder } from './run.js';

const { path } = testFolder();

test.each([
  ['C:\\photos\\cup.png', true],
  ['c:\\Photos\\cup.png', true],
  ['C:\\photos', true],
  ['C:\\', false],
  ['C:\\secret.png', false],
  ['D:\\secret.png', false],
  ['\\\\server\\share\\secret.png', false],
])('for an assistant on Windows, %s is inside C:\\photos: %s', (file, inside) => {
  expect(isInside(file, 'C:\\photos', win32)).toBe(inside);
});

test.each([
  ['\\\\evil.example\\share\\cup.png', true],
  ['//evil.example/share/cup.png', true],
  ['\\\\?\\UNC\\evil.example\\share\\cup.png', true],
  ['\\\\NAS\\Photos\\cup.png', false],
  ['C:\\secret.png', false],
  ['cup.png', false],
])('on Windows, %s is on a network share that holds no allowed folder: %s', (file, isOther) => {
  const folders = ['C:\\photos', '\\\\nas\\photos\\shop'];
  expect(isOnOtherShare(win32.resolve('C:\\photos', file), folders, win32)).toBe(isOther);
});

test('on macOS and Windows, two names that differ only in case are the same file', () => {
  expect(pathKey('Cup.glb', 'darwin')).toBe(pathKey('cup.glb', 'darwin'));
  expect(pathKey('Cup.glb', 'win32')).toBe(pathKey('cup.glb', 'win32'));
  expect(pathKey('Cup.glb', 'linux')).not.toBe(pathKey('cup.glb', 'linux'));
});

test.each([
  ['https://shop.example/nul.png', 'nul_.glb'],
  ['https://shop.example/COM1.jpg', 'COM1_.glb'],
  ['https://shop.example/console.jpg', 'console.glb'],
])('the model of %s is not named like a Windows device', (image, name) => {
  expect(modelPath(image)).toBe(name);
});

describe('a word in a command to copy', () => {
  test.each<[NodeJS.Platform, string, string]>([
    ['linux', "/home/o'neil/my data", "'/home/o'\\''neil/my data'"],
    ['win32', 'C:\\Users\\me\\gen3d', 'C:\\Users\\me\\gen3d'],
    ['win32', "C:\\Users\\Pat O'Neil", '"C:\\Users\\Pat O\'Neil"'],
    ['win32', '100 % wool & cotton', '"100 % wool & cotton"'],
    ['win32', 'D:\\My Data\\', '"D:\\My Data\\\\"'],
    ['win32', '$(calc).glb', 'VALUE'],
    ['win32', 'a`nb.glb', 'VALUE'],
    ['win32', '%TEMP%', 'VALUE'],
    ['win32', 'a "large" mug', 'VALUE'],
    ['win32', 'a \u201D& calc', 'VALUE'],
    ['linux', '$(calc).glb', "'$(calc).glb'"],
  ])('is quoted for the shells of %s: %s', (platform, text, word) => {
    expect(shellWord(text, platform)).toBe(word);
  });
});

test.each([
  ['EADDRINUSE', /Port 80 is already in use/],
  ['EACCES', /Port 80 is reserved by the system, or needs privileges\. Choose another port with --port/],
])('a port that fails with %s is a usage error', (code, message) => {
  const failure = failureOf(Object.assign(new Error(code), { code, syscall: 'listen', port: 80 }));
  expect(failure).toEqual({ exitCode: 2, message: expect.stringMatching(message) });
});

test('the message `shutdown` of a parent process ends a server as SIGTERM does', { tags: 'slow' }, async () => {
  const child = fork(bin, ['serve', '--port', '0', '--workers', '0'], {
    env: { PATH: process.env.PATH, HOME: path(), GEN3D_CONFIG_DIR: path('config'), GEN3D_DATA_DIR: path('data') },
    execArgv: [],
    stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
  });
  await once(child.stdout!, 'data');
  child.send('shutdown');
  expect(await once(child, 'exit')).toEqual([0, null]);
});
