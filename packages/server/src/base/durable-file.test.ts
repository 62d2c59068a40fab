import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { copyDurably, publishNew, writeDurably } from './durable-file.js';

async function temporaryFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'gen3d-durable-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

test('concurrent writes leave every file whole, and no drafts', async () => {
  const folder = await temporaryFolder();
  const names = Array.from({ length: 30 }, (_, n) => `file-${n}`);
  await Promise.all(names.map((name) => writeDurably(join(folder, name), Buffer.from(name))));
  expect((await readdir(folder)).sort()).toEqual(names.toSorted());
  for (const name of names) expect(await readFile(join(folder, name), 'utf8')).toBe(name);
});

describe.each(['with hard links', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EISDIR'])(
  'on a file system: %s',
  (system) => {
    const link =
      system === 'with hard links'
        ? undefined
        : () => {
            throw Object.assign(new Error(`${system}: link`), { code: system });
          };

    test('a copy has the same content, and replacing one of the two leaves the other', async () => {
      const folder = await temporaryFolder();
      const [from, to] = [join(folder, 'file'), join(folder, 'copy')];
      await writeFile(from, 'content');
      await copyDurably(from, to, link && (async () => link()));
      await writeDurably(to, Buffer.from('another'));
      expect(await readFile(from, 'utf8')).toBe('content');
      expect((await readdir(folder)).sort()).toEqual(['copy', 'file']);
    });

    test('a draft is renamed, and nothing else is left', async () => {
      const folder = await temporaryFolder();
      await writeFile(join(folder, '.draft'), 'whole');
      publishNew(join(folder, '.draft'), join(folder, 'file'), link);
      expect(await readdir(folder)).toEqual(['file']);
      expect(await readFile(join(folder, 'file'), 'utf8')).toBe('whole');
    });

    test('an existing file is never replaced', async () => {
      const folder = await temporaryFolder();
      await writeFile(join(folder, '.draft'), 'whole');
      await writeFile(join(folder, 'file'), 'precious');
      expect(() => publishNew(join(folder, '.draft'), join(folder, 'file'), link)).toThrow(
        expect.objectContaining({ code: 'EEXIST' }),
      );
      expect(await readFile(join(folder, 'file'), 'utf8')).toBe('precious');
    });

    test('if the draft cannot be renamed, no empty file is left', async () => {
      const folder = await temporaryFolder();
      expect(() => publishNew(join(folder, '.missing'), join(folder, 'file'), link)).toThrow('ENOENT');
      expect(await readdir(folder)).toEqual([]);
    });
  },
);
