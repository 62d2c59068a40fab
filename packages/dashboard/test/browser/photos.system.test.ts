import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { Gen3d } from '@gen3d/sdk';
import type { Page } from 'playwright-core';
import { expect, test, vi } from 'vitest';
import { testFolder } from '../../../cli/test/run.js';
import { sharp } from '../../../engine/src/base/sharp.js';
import { looksOf, photosOfAllKinds } from '../../../sdk/test/photos.js';
import {
  addOneEach,
  ball,
  dropBall,
  expectAccessible,
  galleryWith,
  photoNamed,
  seriousViolations,
  signedIn,
  succeed,
  useBrowser,
} from './kit.js';

useBrowser();
const { gen3d, path } = testFolder();

/** A TIFF that is red on the left and blue on the right, with an orientation that turns it clockwise: red becomes the top. */
function sidewaysTiff(): Promise<Buffer> {
  const [width, height] = [40, 20];
  const pixels = Buffer.alloc(3 * width * height);
  for (let i = 0; i < width * height; i++) pixels[3 * i + (i % width < width / 2 ? 0 : 2)] = 255;
  return sharp(pixels, { raw: { width, height, channels: 3 } })
    .withMetadata({ orientation: 6 })
    .tiff({ compression: 'none' })
    .toBuffer();
}

/** The size of an image, decoded by the browser, and its pixels at 48x48 as RGBA. */
async function decodedIn(page: Page, dataUri: string): Promise<{ size: number[]; pixels: number[] }> {
  return page.evaluate(`(async () => {
    const image = new Image();
    const bytes = Uint8Array.from(atob(${JSON.stringify(dataUri)}.split(',')[1]), (char) => char.charCodeAt(0));
    image.src = URL.createObjectURL(new Blob([bytes]));
    await image.decode();
    const canvas = Object.assign(document.createElement('canvas'), { width: 48, height: 48 });
    const context = canvas.getContext('2d');
    context.imageSmoothingQuality = 'high';
    context.drawImage(image, 0, 0, 48, 48);
    const { data } = context.getImageData(0, 0, 48, 48);
    return { size: [image.naturalWidth, image.naturalHeight], pixels: [...data] };
  })()`);
}

test('files that are not images are reported and not sent', async () => {
  const { page } = await signedIn();
  const sent: string[] = [];
  page.on('request', (request) => request.method() === 'POST' && sent.push(request.url()));
  await addOneEach(page, [
    { name: 'nothing.jpg', mimeType: 'image/jpeg', buffer: Buffer.alloc(0) },
    { name: 'noise.jpg', mimeType: 'image/jpeg', buffer: Buffer.from('these bytes are not an image') },
  ]);
  await page.getByText('nothing.jpg is empty').waitFor();
  await page.getByText('noise.jpg is not a recognized image').waitFor();
  expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
  expect(sent).toEqual([]);
  expect(await seriousViolations(page)).toEqual([]);
});

test('photos of one object become one job, each as the side in its name or the one selected', async () => {
  const { server, page, errors } = await signedIn();
  await dropBall(page, ['mug.jpg', 'mug-right.jpg', 'handle.jpg']);
  const dialog = page.getByRole('dialog', { name: 'One object, or one each?' });
  const sideOf = (name: string) => dialog.getByLabel(`Side of ${name}`);
  expect(await sideOf('mug.jpg').inputValue()).toBe('front');
  expect(await sideOf('mug-right.jpg').inputValue()).toBe('right');
  expect(await sideOf('handle.jpg').inputValue()).toBe('left');
  await sideOf('handle.jpg').selectOption('Back');
  await dialog.getByLabel('Photo of the left').setInputFiles(photoNamed('spout.jpg'));
  await sideOf('spout.jpg').selectOption('Not used');
  await expectAccessible(page);
  const request = page.waitForRequest((sent) => sent.method() === 'POST');
  await dialog.getByRole('button', { name: 'One object' }).click();
  const image = `data:image/png;base64,${ball.toString('base64')}`;
  const { input } = (await request).postDataJSON();
  expect(input).toEqual({ image_urls: [image], views: { back: image, right: image } });
  await page.locator('.card', { hasText: 'mug.jpg' }).getByText('Waiting').waitFor();
  const { body } = await server.call('GET', '/gen3d/jobs');
  expect(body).toMatchObject({ jobs: [{ label: 'mug.jpg', views: ['back', 'right'] }] });
  await page.getByRole('link', { name: 'mug.jpg' }).click();
  for (const side of ['Front', 'Back', 'Right']) await page.getByAltText(`${side}, as uploaded`).waitFor();
  expect(errors).toEqual([]);
});

test('photos of one object each become one job each, and none if the question is canceled', async () => {
  const { server, page, names } = await galleryWith(['vase.jpg', 'vase-left.jpg']);
  expect(await names()).toEqual(['vase-left.jpg', 'vase.jpg']);
  await dropBall(page, ['mug.jpg', 'mug-left.jpg']);
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  const { body } = await server.call('GET', '/gen3d/jobs');
  const views = (body as { jobs: { label: string; views: string[] }[] }).jobs.map((job) => [job.label, job.views]);
  expect(views).toEqual([
    ['vase-left.jpg', []],
    ['vase.jpg', []],
  ]);
});

test('photos of other sides are added to a finished model, and all photos make another one', async () => {
  const { server, page, errors } = await galleryWith(['mug.jpg']);
  await succeed(server);
  await page.locator('.card a').first().click();
  await page.getByAltText('As uploaded').waitFor();
  await page.getByRole('button', { name: 'Add photos of other sides' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add photos of other sides' });
  await dialog.getByLabel('Photo of the left').setInputFiles(photoNamed('spout.jpg'));
  await expectAccessible(page);
  const request = page.waitForRequest((sent) => sent.method() === 'POST');
  await dialog.getByRole('button', { name: 'Make the model' }).click();
  expect((await request).postDataJSON().input).toEqual({
    image_urls: [`data:image/png;base64,${ball.toString('base64')}`],
    views: { left: `data:image/png;base64,${ball.toString('base64')}` },
  });
  for (const side of ['Front', 'Left']) await page.getByAltText(`${side}, as uploaded`).waitFor();
  expect(errors).toEqual([]);
});

test('HEIC and TIFF photos are converted, upright and with their colors, and damaged ones are explained', async () => {
  const { page, errors } = await signedIn();
  const sent: string[] = [];
  page.on('request', (request) => {
    if (request.method() === 'POST') sent.push(request.postDataJSON().input.image_urls[0]);
  });
  const heic = readFileSync(new URL('../../../cli/test/photos/teapot.heic', import.meta.url));
  await addOneEach(page, [
    { name: 'teapot.heic', mimeType: '', buffer: heic },
    { name: 'damaged.heic', mimeType: 'image/heic', buffer: heic.subarray(0, 9_000) },
    { name: 'scan.tif', mimeType: 'image/tiff', buffer: await sidewaysTiff() },
  ]);
  for (const name of ['teapot.heic', 'scan.tif']) {
    await page.locator('.card', { hasText: name }).getByText('Waiting').waitFor();
  }
  await page.locator('.card', { hasText: 'damaged.heic' }).getByText('cannot be converted here').waitFor();
  expect(sent).toHaveLength(2);
  const [teapot, scan] = [await decodedIn(page, sent[0] ?? ''), await decodedIn(page, sent[1] ?? '')];
  const jpeg = readFileSync(new URL('../../../../examples/photos/teapot.jpg', import.meta.url)).toString('base64');
  const original = await decodedIn(page, `data:image/jpeg;base64,${jpeg}`);
  expect(teapot.size).toEqual([480, 384]);
  const differences = teapot.pixels.map((value, i) => Math.abs(value - (original.pixels[i] ?? 0)));
  // Without the color profile, the mean difference is 2.3 of 255 instead of 1.3.
  expect(differences.reduce((sum, value) => sum + value, 0) / differences.length).toBeLessThan(1.6);
  expect(scan.size).toEqual([20, 40]);
  const [top, bottom] = [scan.pixels.slice(0, 4), scan.pixels.slice(-4)];
  for (const [color, expected] of [
    [top, [255, 0, 0, 255]],
    [bottom, [0, 0, 255, 255]],
  ] as const) {
    for (const [i, value] of color.entries()) expect(Math.abs(value - (expected[i] ?? 0))).toBeLessThan(12);
  }
  expect(errors.filter((error) => /Content.Security.Policy|violates/i.test(error))).toEqual([]);
});

test('an empty gallery makes a model of a sample photo', async () => {
  const { page, errors } = await signedIn();
  await page.getByRole('button', { name: 'Make a model of the running shoe' }).waitFor();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Make a model of the running shoe' }).click();
  await page.locator('.card', { hasText: 'running-shoe.webp' }).getByText('Waiting').waitFor();
  expect(errors).toEqual([]);
});

test('command line, SDK and dashboard accept, name and send the same photos alike', async () => {
  const { server, page } = await signedIn();
  const { url: baseUrl, apiKey } = server;
  const sdk = new Gen3d({ baseUrl, apiKey });
  const polled = await page.waitForRequest((request) => 'x-gen3d-account' in request.headers());
  const headers = { 'x-gen3d-account': polled.headers()['x-gen3d-account'] ?? '' };
  for (const { name, photo, size } of await photosOfAllKinds()) {
    const file = path(name);
    await writeFile(file, photo);
    const { stdout, stderr } = await gen3d(['create', file], {
      env: { GEN3D_BASE_URL: baseUrl, GEN3D_API_KEY: apiKey },
    });
    const bySdk = await sdk.jobs.create({ image: file }).catch(({ message }: Error) => message);
    await page.setInputFiles('input[type=file]', file);
    const card = page.locator('.card', { hasText: name });

    if (size === null) {
      const problem = `${name} is a BMP. Send a JPEG, PNG, WebP, HEIC, AVIF, GIF or TIFF`;
      expect(stderr).toContain(problem);
      expect(bySdk).toContain(problem);
      await card.getByText(problem).waitFor();
      continue;
    }
    expect(bySdk, name).toEqual({ job_id: expect.any(String) });
    const jobs = await vi.waitFor(async () => {
      const { body } = await server.call('GET', `/gen3d/jobs?search=${name}`);
      const { jobs } = body as { jobs: { task_id: string; label: string }[] };
      expect(jobs.map(({ label }) => label)).toEqual([name, name, name]);
      return jobs;
    }, 30_000);
    expect(jobs.map((job) => job.task_id)).toContain(stdout.trim());
    const looks = await Promise.all(
      jobs.map(async ({ task_id }) => {
        const response = await page.request.get(`${baseUrl}/dashboard/api/job-details/${task_id}/photos/front`, {
          headers,
        });
        return looksOf(await response.body());
      }),
    );
    for (const look of looks) {
      expect(look.size, name).toEqual(size);
      const differences = look.pixels.map((value, i) => Math.abs(value - looks[0]!.pixels[i]!));
      expect(differences.reduce((sum, value) => sum + value, 0) / differences.length, name).toBeLessThan(3);
    }
  }
});
