import { readFile } from 'node:fs/promises';
import { unzipSync } from 'fflate';
import { expect, test } from 'vitest';
import { withFile } from '../../../weights/src/checkpoint/byte-source.js';
import { readZipDirectory, type ZipEntry } from '../../../weights/src/checkpoint/zip.js';
import { sandboxGallery, useBrowser } from './kit.js';

useBrowser();

test('several models, and a model of several files, are downloaded as ZIP files', async () => {
  const { page, errors } = await sandboxGallery(2);
  const filesFrom = async (name: RegExp) => {
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name }).click();
    expect((await download).suggestedFilename()).toMatch(/\.zip$/);
    return withFile(await (await download).path(), async (file) => {
      const entries = [...(await readZipDirectory(file)).values()];
      const start = async (entry: ZipEntry) => (await file.read(await entry.dataOffset(), 6)).toString('latin1');
      return Promise.all(entries.map(async (entry) => [entry.name.replace(/^.*?([.-])/, '$1'), await start(entry)]));
    });
  };
  await page.getByRole('button', { name: 'Select', exact: true }).click();
  await page.getByRole('button', { name: 'Select all shown' }).click();
  expect(await filesFrom(/^Download 2 models/)).toEqual([
    ['.glb', 'glTF\x02\0'],
    ['.glb', 'glTF\x02\0'],
  ]);
  await page.getByRole('button', { name: 'Select', exact: true }).click();
  await page.locator('.card a').first().click();
  await page.getByText('Other formats').click();
  expect(await filesFrom(/^OBJ/)).toEqual([
    ['.obj', '# gen3'],
    ['.mtl', '# gen3'],
    ['-texture.jpg', expect.stringMatching(/^\xff\xd8\xff/)],
  ]);
  expect(errors).toEqual([]);
});

test('a selection with a failed job says how many models it downloads', async () => {
  const { server, page } = await sandboxGallery();
  await server.call('POST', '/v1/jobs', { type: 'text-to-3d', input: {} }, 'gen3d_test_public');
  await page.reload();
  await page.locator('.card').nth(1).waitFor();
  await page.getByRole('button', { name: 'Select', exact: true }).click();
  await page.getByRole('button', { name: 'Select all shown' }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download 1 of 2' }).click();
  expect((await download).suggestedFilename()).toMatch(/\.glb$/);
});

test('a model for printing has the entered size, a flat base and a thumbnail, and is checked', async () => {
  const { page, errors } = await sandboxGallery(1);
  await page.locator('.card a').first().click();
  await page.getByText('Other formats').click();
  await page.getByLabel('Longest side').fill('80mm');
  await page.getByLabel('cut a flat base').check();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: /^3MF/ }).click();
  const files = unzipSync(await readFile(await (await download).path()));
  expect(Object.keys(files)).toContain('Metadata/thumbnail.png');
  const notes = page.locator('.formats [role=status]');
  await expect
    .poll(() => notes.textContent())
    .toMatch(/80.* mm .*Flat base: the lowest .* mm are cut off.*Print check: closed, /);
  expect(errors).toEqual([]);
});
