import { expect, test } from 'vitest';
import { imageJob } from '../../../server/test/kit.js';
import { ball, expectAccessible, fail, galleryWith, sandboxGallery, signedIn, useBrowser } from './kit.js';

useBrowser();

test('the gallery names jobs, searches and filters them', async () => {
  const { page, errors, names } = await galleryWith(['blue vase.png', 'red ball.png', 'Anvil.png']);
  expect(await names()).toEqual(['Anvil.png', 'red ball.png', 'blue vase.png']);
  await page.getByLabel('In progress 3').waitFor();
  await expectAccessible(page);

  await page.getByLabel('Search by name or id').fill('VASE');
  await expect.poll(names).toEqual(['blue vase.png']);
  await page.getByLabel('Done 0').check();
  await page.getByText('No jobs match “VASE”.').waitFor();
  expect(new URL(page.url()).search).toBe('?show=done&search=VASE');
  await page.getByLabel('All 1').check();
  await page.locator('.card a').click();
  await page.getByRole('heading', { level: 1, name: 'blue vase.png' }).waitFor();
  expect(await page.title()).toBe('blue vase.png · gen3d');
  await expectAccessible(page);
  await page.goBack();
  await expect.poll(names).toEqual(['blue vase.png']);
  await page.locator('.card a').click();
  await page.locator('.crumbs a').click();
  await expect.poll(names).toEqual(['blue vase.png']);
  expect(new URL(page.url()).search).toBe('?search=VASE');
  expect(errors).toEqual([]);
});

test('jobs are deleted after a question: one on its page, and several that are selected', async () => {
  const { page, errors, names } = await galleryWith(['blue vase.png', 'red ball.png', 'Anvil.png']);
  await page.locator('.card a', { hasText: 'blue vase.png' }).click();
  await page.getByRole('button', { name: 'Delete' }).click();
  const question = page.getByRole('dialog', { name: 'Delete blue vase.png?' });
  await question.waitFor();
  await expectAccessible(page);
  await question.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await question.getByRole('button', { name: 'Delete' }).click();
  await expect.poll(names).toEqual(['Anvil.png', 'red ball.png']);

  await page.getByRole('button', { name: 'Select', exact: true }).click();
  await page.getByRole('button', { name: 'Select all shown' }).click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog', { name: 'Delete 2 jobs?' }).getByRole('button', { name: 'Delete' }).click();
  await page.getByText('2 jobs deleted.').waitFor();
  await expect.poll(names).toEqual([]);
  // The page may ask for a job, or for its photo, just before it deletes it.
  expect(errors.filter((error) => !/ 404 .*\/(gallery|job-details)\//.test(error))).toEqual([]);
});

test('all shown jobs stay up to date, also those that scrolling loads', async () => {
  const { server, page } = await signedIn();
  for (let i = 0; i < 30; i++) await server.call('POST', '/v1/jobs', imageJob(ball));
  const cards = page.locator('.card');
  await expect.poll(() => cards.count()).toBe(24);
  await page.evaluate('scrollTo(0, document.body.scrollHeight)');
  await expect.poll(() => cards.count()).toBe(30);
  await fail(server, 'no_foreground');
  await expect.poll(() => page.locator('.card .badge.failed').count()).toBe(30);
});

test('the bar of the selection stays visible while the gallery scrolls', async () => {
  const { page } = await galleryWith(Array.from({ length: 8 }, (_, i) => `ball ${i}.png`));
  await page.getByRole('button', { name: 'Select', exact: true }).click();
  for (const width of [390, 768, 1440]) {
    await page.setViewportSize({ width, height: 300 });
    await page.evaluate('scrollTo(0, 400)');
    const button = page.getByRole('button', { name: 'Select all shown' });
    // Otherwise the click would scroll to it.
    const { y, height } = (await button.boundingBox())!;
    expect(y).toBeGreaterThanOrEqual(0);
    expect(y + height).toBeLessThanOrEqual(300);
    // A click fails if something covers the button.
    await button.click();
    await page.getByText('8 selected').waitFor();
  }
});

test('the sandbox, which everyone shares, offers no way to delete its jobs', async () => {
  const { page, errors } = await sandboxGallery();
  await page.getByRole('button', { name: 'Select', exact: true }).click();
  await page.getByRole('button', { name: 'Select all shown' }).click();
  await page.getByText('1 selected').waitFor();
  expect(await page.getByRole('button', { name: 'Delete' }).count()).toBe(0);
  await page.getByRole('button', { name: 'Select', exact: true }).click();
  await page.locator('.card a').first().click();
  await page.getByText('Permanent link').waitFor();
  expect(await page.getByRole('button', { name: 'Delete' }).count()).toBe(0);
  expect(errors).toEqual([]);
});

test('a model without a transparent thumbnail shows its JPEG, also after a change of the color scheme', async () => {
  const { page } = await sandboxGallery();
  const width = () =>
    page.locator('.card img').evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth);
  for (const colorScheme of ['light', 'dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    await expect.poll(width).toBe(512);
  }
});
