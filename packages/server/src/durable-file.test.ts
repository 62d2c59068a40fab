import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { syncFolder, writeDurably } from './durable-file.js';

async function temporaryFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'gen3d-durable-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

test('files written at once are all there, whole, with no drafts beside them', async () => {
  const folder = await temporaryFolder();
  const names = Array.from({ length: 30 }, (_, n) => `file-${n}`);
  await Promise.all(names.map((name) => writeDurably(join(folder, name), Buffer.from(name))));
  expect((await readdir(folder)).sort()).toEqual(names.toSorted());
  for (const name of names) expect(await readFile(join(folder, name), 'utf8')).toBe(name);
});

test('a folder that cannot be synced fails for everyone who waits, and later ones are tried again', async () => {
  const folder = join(await temporaryFolder(), 'missing');
  const outcomes = await Promise.allSettled([syncFolder(folder), syncFolder(folder), syncFolder(folder)]);
  expect(outcomes.map(({ status }) => status)).toEqual(
    process.platform === 'win32' ? Array(3).fill('fulfilled') : Array(3).fill('rejected'),
  );
  await mkdir(folder);
  await expect(syncFolder(folder)).resolves.toBeUndefined();
});
