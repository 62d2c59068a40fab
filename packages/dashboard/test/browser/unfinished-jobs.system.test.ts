import type { Locator } from 'playwright-core';
import { expect, test } from 'vitest';
import { imageJob, startServer } from '../../../server/test/kit.js';
import { ball, expectAccessible, fail, galleryWith, newPage, signInLink, useBrowser } from './kit.js';

useBrowser();

test('a waiting job is canceled on its card or its page, and tried again', async () => {
  const { page, errors, names } = await galleryWith(['blue vase.png', 'red ball.png']);
  const card = page.locator('.card', { hasText: 'red ball.png' });
  await page.getByRole('button', { name: 'Cancel red ball.png' }).click();
  await card.getByText('Canceled').waitFor();
  await page.getByLabel('Failed 1').waitFor();
  await page.getByRole('button', { name: 'Try again: red ball.png' }).click();
  await card.getByText('Waiting').waitFor();
  expect(await names()).toEqual(['red ball.png', 'red ball.png', 'blue vase.png']);

  await page.locator('.card a', { hasText: 'blue vase.png' }).click();
  await page.getByRole('button', { name: 'Cancel the job' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel the job' }).click();
  await page.getByText('The job was canceled.').waitFor();
  await expectAccessible(page);
  const canceledUrl = page.url();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.waitForURL((url) => url.href !== canceledUrl);
  await page.getByRole('button', { name: 'Cancel the job' }).waitFor();
  await page.getByRole('heading', { level: 1, name: 'blue vase.png' }).waitFor();
  expect(errors).toEqual([]);
});

test('a waiting job’s page has its position, and that of a failed job its photo and a way to send another', async () => {
  const { server, page, errors } = await galleryWith(['blue vase.png', 'red ball.png']);
  await page.locator('.card a', { hasText: 'red ball.png' }).click();
  await page.getByText('Queued, 1 ahead of it').waitFor();
  await expectAccessible(page);

  await fail(server, 'inference_failed', { label: 'red ball.png' });
  await page.getByText('Try another view').waitFor();
  await page.getByAltText('As uploaded').waitFor();
  await expectAccessible(page);
  await page.getByRole('link', { name: 'Try another photo' }).click();
  await page.getByRole('button', { name: 'Add photos' }).waitFor();
  expect(errors).toEqual([]);
});

test('a failed job from a program shows its photo, and suggests another photo before the same one', async () => {
  const server = await startServer();
  const { page, errors } = await newPage();
  await server.call('POST', '/v1/jobs', imageJob(ball));
  await fail(server, 'no_foreground');
  await page.goto(await signInLink(server.url, server.config));
  const shown = (image: Locator) =>
    image.evaluate((element) => (element as unknown as { naturalWidth: number }).naturalWidth);
  const card = page.locator('.card');
  await expect.poll(() => shown(card.locator('img'))).toBe(160);
  expect(await card.getByRole('button', { name: /^Try again/ }).count()).toBe(0);
  await card.locator('a').click();
  await expect.poll(() => shown(page.getByAltText('As uploaded'))).toBe(160);
  const primary = page.locator('main .primary:visible');
  expect(await primary.allTextContents()).toEqual(['Try another photo']);
  await expectAccessible(page);
  await fail(server, 'internal_error');
  await page.reload();
  await page.getByRole('button', { name: 'Try again' }).waitFor();
  expect(await primary.allTextContents()).toEqual(['Try again']);
  expect(errors).toEqual([]);
});

test('a failed job’s card is as high as the others, and its page has the whole message', async () => {
  const { server, page, errors } = await galleryWith(['blue vase.png', 'red ball.png']);
  const message = `No object stands out from the background of this image. ${'Send another photo. '.repeat(10)}`.trim();
  await fail(server, 'no_foreground', { label: 'red ball.png', message });
  const failed = page.locator('.card', { hasText: 'red ball.png' });
  await failed.getByText('Failed').waitFor();
  const waiting = page.locator('.card', { hasText: 'blue vase.png' });
  const [failedBox, waitingBox] = [await failed.boundingBox(), await waiting.boundingBox()];
  expect(failedBox!.height).toBeCloseTo(waitingBox!.height, 0);
  await expectAccessible(page);
  await failed.locator('a').click();
  await page.getByText(message).waitFor();
  await expectAccessible(page);
  expect(errors).toEqual([]);
});
