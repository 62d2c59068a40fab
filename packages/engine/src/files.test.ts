import { mkdir, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeFolder, replaceFile, syncFolder } from './files.js';
import { temporaryFolder } from './temporary-folder.fixture.js';

/** A rename that fails with these codes, and then succeeds. */
function failing(...codes: string[]) {
  let calls = 0;
  const rename = async () => {
    const code = codes[calls];
    calls += 1;
    if (code) throw Object.assign(new Error(code), { code });
  };
  return { rename, calls: () => calls };
}

test('on Windows, a file that another process has open for a moment is replaced', async () => {
  const { rename, calls } = failing('EPERM', 'EBUSY', 'EACCES');
  await replaceFile('draft', 'file', { rename, platform: 'win32' });
  expect(calls()).toBe(4);
});

test.each(['ENOENT', 'ENOSPC'])('%s is thrown at once', async (code) => {
  const { rename, calls } = failing(code);
  await expect(replaceFile('draft', 'file', { rename, platform: 'win32' })).rejects.toMatchObject({ code });
  expect(calls()).toBe(1);
});

test('on other systems, EPERM is thrown at once', async () => {
  const { rename, calls } = failing('EPERM');
  await expect(replaceFile('draft', 'file', { rename, platform: 'linux' })).rejects.toMatchObject({ code: 'EPERM' });
  expect(calls()).toBe(1);
});

test('a failed sync rejects all concurrent callers, and the next call tries again', async () => {
  const folder = join(temporaryFolder(), 'missing');
  const outcomes = await Promise.allSettled([syncFolder(folder), syncFolder(folder), syncFolder(folder)]);
  expect(outcomes.map(({ status }) => status)).toEqual(
    process.platform === 'win32' ? Array(3).fill('fulfilled') : Array(3).fill('rejected'),
  );
  await mkdir(folder);
  await expect(syncFolder(folder)).resolves.toBeUndefined();
});

test('a folder is created with those above it, by concurrent callers too', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'a', 'b', 'c');
  await Promise.all(Array.from({ length: 8 }, () => makeFolder(path)));
  expect((await stat(path)).isDirectory()).toBe(true);
  await makeFolder(path);
});

test('a folder behind a link to nothing is an error, where mkdir never returns', async () => {
  const folder = temporaryFolder();
  await symlink(join(folder, 'unmounted'), join(folder, 'link'));
  await expect(makeFolder(join(folder, 'link', 'models'))).rejects.toMatchObject({ code: 'EEXIST' });
});
