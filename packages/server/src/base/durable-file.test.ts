import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../engine/src/temporary-folder.fixture.js';
import { copyDurably, writeDurably } from './durable-file.js';

test('concurrent writes leave every file whole, and no drafts', async () => {
  const folder = temporaryFolder();
  const names = Array.from({ length: 30 }, (_, n) => `file-${n}`);
  await Promise.all(names.map((name) => writeDurably(join(folder, name), Buffer.from(name))));
  expect((await readdir(folder)).sort()).toEqual(names.toSorted());
  for (const name of names) expect(await readFile(join(folder, name), 'utf8')).toBe(name);
});

test.each(['with hard links', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EISDIR'])(
  'a copy has the same content, and replacing one of the two leaves the other, on a file system: %s',
  async (system) => {
    const folder = temporaryFolder();
    const [from, to] = [join(folder, 'file'), join(folder, 'copy')];
    await writeFile(from, 'content');
    const refuse = async () => Promise.reject(Object.assign(new Error(`${system}: link`), { code: system }));
    await copyDurably(from, to, system === 'with hard links' ? undefined : refuse);
    await writeDurably(to, Buffer.from('another'));
    expect(await readFile(from, 'utf8')).toBe('content');
    expect((await readdir(folder)).sort()).toEqual(['copy', 'file']);
  },
);
