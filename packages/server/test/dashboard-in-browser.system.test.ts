import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { launchChromium } from '../../../scripts/chromium.mjs';
import { withFile } from '../../weights/src/checkpoint/byte-source.js';
import { dataOffset, readZipDirectory, type ZipEntry } from '../../weights/src/checkpoint/zip.js';
import { type Config, loadConfig } from '../src/config.js';
import { openDataDir } from '../src/data/installation/data-dir.js';
import { openAdmin } from '../src/index.js';
import { ballPhoto } from './ball-photo.js';
import { makePrivateCa } from './faults/private-ca.js';
import { openReceiver } from './faults/receiver.js';
import { spawnServer } from './faults/server-process.js';
import { newInstallation, startServer } from './kit.js';
import { openDatabase } from './open-database.js';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const photo = { name: 'ball.png', mimeType: 'image/png', base64: ballPhoto().toString('base64') };

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser?.close());

/** A page of a new browser profile, and its errors, including violations of the Content-Security-Policy. */
async function newPage(colorScheme: 'light' | 'dark' = 'light'): Promise<{ page: Page; errors: string[] }> {
  const context = await browser.newContext({
    colorScheme,
    reducedMotion: 'reduce',
    viewport: { width: 800, height: 600 },
  });
  onTestFinished(() => context.close());
  // Without a GPU, on a busy machine, rendering may take a minute.
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  return { page, errors };
}

async function signInLink(url: string, config: Config): Promise<string> {
  const admin = await openAdmin(config);
  onTestFinished(() => admin.close());
  return url + (await admin.signInLink());
}

/** A server that trusts the receiver's certificate. That takes an environment variable, so it is a separate process. */
async function serverWithReceiver() {
  const installation = await newInstallation();
  const ca = await makePrivateCa();
  const caFile = join(installation.dataDir, 'ca.pem');
  writeFileSync(caFile, ca.ca);
  const settings = {
    ...installation,
    webhookPingDelay: 0,
    webhookRetryDelays: [],
    allowPrivateNetwork: true,
  };
  const server = spawnServer(settings, { NODE_EXTRA_CA_CERTS: caFile });
  onTestFinished(() => server.kill());
  const receiver = await openReceiver(ca, (response) => response.end('thank you'));
  onTestFinished(() => receiver.close());
  return { server, url: await server.ready, config: loadConfig({}, {}, { ...installation }), receiver };
}

/** Violations that axe rates serious or critical, as `rule: selector`. */
async function seriousViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  return page.evaluate<string[]>(`axe.run().then(({ violations }) => violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ': ' + target.join(' '))))`);
}

const openAccountMenu = (page: Page) => page.getByRole('button', { name: /^Account/ }).click();

/** Creates a job in the sandbox, signs in, and opens the gallery of the sandbox. */
async function openSandboxGallery(server: Awaited<ReturnType<typeof startServer>>, page: Page): Promise<void> {
  const image = `data:image/png;base64,${photo.base64}`;
  const job = { type: 'image-to-3d', input: { image_urls: [image] } };
  await server.call('POST', '/v1/jobs', job, 'gen3d_test_public');
  await page.goto(await signInLink(server.url, server.config));
  await openAccountMenu(page);
  await page.locator('.menu select').selectOption('sandbox');
}

/** Serious violations in both color schemes. */
async function expectAccessible(page: Page): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await seriousViolations(page), colorScheme).toEqual([]);
  }
}

async function drop(page: Page): Promise<void> {
  const files = await page.evaluateHandle(`(() => {
    const { name, mimeType, base64 } = ${JSON.stringify(photo)};
    const transfer = new DataTransfer();
    transfer.items.add(new File([Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))], name, { type: mimeType }));
    return transfer;
  })()`);
  await page.dispatchEvent('body', 'drop', { dataTransfer: files });
}

/** A server that has accepted photos, in this order, but works on none, and its gallery. */
async function galleryWith(photoNames: readonly string[]) {
  const server = await startServer();
  const { page, errors } = await newPage();
  await page.goto(await signInLink(server.url, server.config));
  await page.getByText('Drop a photo here').waitFor();
  const buffer = Buffer.from(photo.base64, 'base64');
  await page.setInputFiles(
    'input[type=file]',
    photoNames.map((name) => ({ name, mimeType: photo.mimeType, buffer })),
  );
  const names = () => page.locator('.card strong').allTextContents();
  for (const name of photoNames) await page.locator('.card', { hasText: name }).getByText('Waiting').waitFor();
  return { server, page, errors, names };
}

/** A TIFF that is red on the left and blue on the right, with an orientation that turns it clockwise: red becomes the top. */
function sidewaysTiff(): Buffer {
  const [width, height] = [40, 20];
  const entries = [
    [256, width],
    [257, height],
    [258, 8],
    [259, 1], // not compressed
    [262, 2], // RGB
    [273, 8], // the pixels follow the header
    [274, 6],
    [277, 3],
    [278, height],
    [279, 3 * width * height],
  ] as const;
  const pixels = Buffer.alloc(3 * width * height);
  for (let i = 0; i < width * height; i++) pixels[3 * i + (i % width < width / 2 ? 0 : 2)] = 255;
  const header = Buffer.from([0x49, 0x49, 42, 0, 0, 0, 0, 0]);
  header.writeUInt32LE(8 + pixels.length, 4);
  const directory = Buffer.alloc(2 + 12 * entries.length + 4);
  directory.writeUInt16LE(entries.length);
  for (const [index, [tag, value]] of entries.entries()) {
    const at = 2 + 12 * index;
    directory.writeUInt16LE(tag, at);
    directory.writeUInt16LE(4, at + 2); // 32 bits
    directory.writeUInt32LE(1, at + 4);
    directory.writeUInt32LE(value, at + 8);
  }
  return Buffer.concat([header, pixels, directory]);
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

/** The angle of the camera around the model, in radians. */
const yaw = (viewer: Locator) =>
  viewer.evaluate((element) =>
    (element as unknown as { getCameraOrbit(): { theta: number } }).getCameraOrbit().theta.toFixed(2),
  );

/** The photo on top of the model, and the model: intersection over union of their outlines. The photo is a cutout. */
async function overlap(page: Page): Promise<number> {
  return page.evaluate(`(async () => {
    const viewer = document.querySelector('model-viewer');
    const photo = document.querySelector('.on-top');
    viewer.shadowIntensity = 0;
    await viewer.updateComplete;
    const model = new Image();
    model.src = URL.createObjectURL(await viewer.toBlob());
    await model.decode();
    const [outer, inner] = [viewer, photo].map((element) => element.getBoundingClientRect());
    const opaque = (image, left, top, width, height) => {
      const canvas = Object.assign(document.createElement('canvas'), { width: outer.width, height: outer.height });
      const context = canvas.getContext('2d');
      context.drawImage(image, left, top, width, height);
      return context.getImageData(0, 0, canvas.width, canvas.height).data.filter((_, i) => i % 4 === 3).map((a) => a >= 128);
    };
    const a = opaque(model, 0, 0, outer.width, outer.height);
    const b = opaque(photo, inner.left - outer.left, inner.top - outer.top, inner.width, inner.height);
    const count = (isCounted) => a.filter((_, i) => isCounted(a[i], b[i])).length;
    return count((x, y) => x && y) / count((x, y) => x || y);
  })()`);
}

/** A screenshot, taken once two in a row are equal, so that nothing moves any more. */
async function stillScreenshot(locator: Locator): Promise<Buffer> {
  for (let before = await locator.screenshot(); ; ) {
    const now = await locator.screenshot();
    if (now.equals(before)) return now;
    before = now;
  }
}

describe('in a browser', () => {
  test('the operator sets a webhook, drops a photo, rotates its model, and creates and revokes a key', async () => {
    const { server, url, config, receiver } = await serverWithReceiver();
    const { page, errors } = await newPage();
    await page.goto(await signInLink(url, config));
    await page.getByRole('heading', { name: 'Models' }).waitFor();
    expect(page.url()).toBe(`${url}/`);
    await page.getByText('Drop a photo here').waitFor();
    expect(await seriousViolations(page)).toEqual([]);

    await page.getByRole('link', { name: 'Webhook' }).click();
    await page.getByLabel('Endpoint URL').fill('http://127.0.0.1:3000/hook');
    await page.getByText('gen3d webhook listen --forward-to http://127.0.0.1:3000/hook').waitFor();
    await page.getByLabel('Endpoint URL').fill(receiver.url);
    await page.getByRole('button', { name: 'Add endpoint' }).click();
    await page.getByText('Endpoint saved.').waitFor();
    await page.getByText('No events yet.').waitFor();
    await page.getByRole('button', { name: 'Send a ping' }).click();
    const ping = page.locator('tr', { hasText: 'ping' });
    await ping.getByText('Delivered').waitFor();
    await ping.getByRole('button', { name: /^Details/ }).click();
    const delivery = page.locator('.delivery');
    await delivery.getByText('thank you').waitFor();
    expect(await delivery.textContent()).toContain(receiver.received[0]?.headers['x-generate-signature']);
    expect(await seriousViolations(page)).toEqual([]);

    await page.getByRole('link', { name: 'Models' }).first().click();
    await page.getByText('Drop a photo here').waitFor();
    await drop(page);
    await page.locator('.card .badge').waitFor();
    await page.locator('.card .badge.succeeded').waitFor();
    expect(await page.locator('.card').count()).toBe(1);
    expect(await seriousViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Select', exact: true }).click();
    await page.getByLabel('Select ball.png').check();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download' }).click();
    expect((await download).suggestedFilename()).toBe('ball.glb');
    await page.getByRole('button', { name: 'Select', exact: true }).click();

    await page.locator('.card').click();
    await page.getByRole('heading', { level: 1, name: 'ball.png' }).waitFor();
    await page.locator('.model[data-state=loaded]').waitFor();
    const model = page.locator('model-viewer');
    const before = await stillScreenshot(model);
    const box = (await model.boundingBox())!;
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x + box.width / 4, y, { steps: 5 });
    await page.mouse.up();
    const rotated = await stillScreenshot(model);
    expect(rotated.equals(before)).toBe(false);
    expect(await yaw(model)).not.toBe('0.56');
    const wireframe = page.getByRole('button', { name: 'Wireframe' });
    await wireframe.click();
    expect((await stillScreenshot(model)).equals(rotated)).toBe(false);
    await wireframe.click();
    expect(await wireframe.getAttribute('aria-pressed')).toBe('false');
    const clay = page.getByRole('button', { name: 'Clay' });
    await clay.click();
    expect((await stillScreenshot(model)).equals(rotated)).toBe(false);
    await clay.click();
    await page.getByRole('button', { name: 'Reset view' }).click();
    // As in the thumbnail, after the rotation above.
    await expect.poll(() => yaw(model), { timeout: 60_000 }).toBe('0.56');
    const comparison = page.getByLabel('Photo', { exact: true });
    const compared = page.getByAltText('Compared with the model');
    await comparison.selectOption('Photo beside');
    await compared.waitFor();
    await comparison.selectOption('Photo on top');
    await page.getByLabel('Opacity of the photo').fill('0.2');
    expect(await compared.evaluate((image) => image.style.opacity)).toBe('0.2');
    // Once the camera has moved.
    await expect.poll(() => overlap(page), { timeout: 60_000 }).toBeGreaterThan(0.95);
    await expectAccessible(page);
    await comparison.selectOption('Photo: off');
    await page.getByAltText('As uploaded').waitFor();
    await page.getByText('Time by stage').click();
    await page.getByText('Cutting out the object').waitFor();
    expect((await page.locator('.stages li').allTextContents()).slice(0, 3)).toEqual([
      expect.stringMatching(/^Queued/),
      expect.stringMatching(/^Preparing the photo/),
      expect.stringMatching(/^Cutting out the object/),
    ]);

    const fact = (name: string) => page.locator(`dt:text-is("${name}") + dd`).textContent();
    const triangles = Number((await fact('Triangles'))?.replaceAll(',', ''));
    expect(await fact('Texture')).toMatch(/^\d+ × \d+$/);
    expect(await fact('File size')).toMatch(/kB$/);
    await page.getByText('Other formats').click();
    await expectAccessible(page);
    const converted = page.waitForEvent('download');
    await page.getByRole('button', { name: /^STL/ }).click();
    expect((await converted).suggestedFilename()).toBe('ball.stl');
    expect(readFileSync(await (await converted).path()).length).toBe(84 + 50 * triangles);
    const link = await page.getByRole('textbox', { name: 'Permanent link' }).inputValue();
    expect((await fetch(link)).status).toBe(200);

    const rotate = page.getByRole('button', { name: 'Rotate' });
    expect(await rotate.getAttribute('aria-pressed')).toBe('false');
    await page.emulateMedia({ reducedMotion: 'no-preference' });
    await page.reload();
    await page.locator('.model[data-state=loaded]').waitFor();
    expect(await rotate.getAttribute('aria-pressed')).toBe('true');
    await model.click();
    await expect.poll(() => rotate.getAttribute('aria-pressed'), { timeout: 60_000 }).toBe('false');
    await page.emulateMedia({ reducedMotion: 'reduce' });
    await page.locator('tr', { hasText: 'Done 100 %' }).getByText('Delivered').waitFor();
    expect(await seriousViolations(page)).toEqual([]);

    await page.getByRole('link', { name: 'API keys' }).first().click();
    await page.getByLabel('Name of the new key').fill('web shop');
    await page.getByRole('button', { name: 'Create key' }).click();
    const apiKey = (await page.getByTestId('new-key').textContent())?.trim() ?? '';
    expect((await server.call('GET', '/v1/balance', undefined, apiKey)).status).toBe(200);
    expect(await seriousViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Revoke the key web shop' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.locator('tr.revoked').waitFor();
    expect((await server.call('GET', '/v1/balance', undefined, apiKey)).status).toBe(403);

    // The port is closed and there are no retries, so the ping becomes a dead letter.
    await page.getByRole('link', { name: 'Webhook' }).click();
    await page.getByLabel('Endpoint URL').fill('https://127.0.0.1:9/hook');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Endpoint saved.').waitFor();
    await page.getByRole('button', { name: 'Send a ping' }).click();
    await page.getByLabel('Not delivered').check();
    await ping.getByText('Dead letter').waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    await ping.getByRole('button', { name: /^Replay/ }).click();
    await page.getByText('The event will be sent again.').waitFor();

    for (const name of ['Usage', 'Operator']) {
      await page.getByRole('link', { name }).click();
      await page.getByRole('heading', { level: 1, name }).waitFor();
      await page.locator('.tile').first().waitFor();
      expect(await seriousViolations(page)).toEqual([]);
    }
    expect(errors).toEqual([]);
    // Rendering on two cores without a GPU is slow.
  }, 400_000);

  test('the operator sets a password, signs out, and signs in with it', async () => {
    const server = await startServer();
    const { page } = await newPage();
    await page.goto(await signInLink(server.url, server.config));
    await openAccountMenu(page);
    expect(await seriousViolations(page)).toEqual([]);
    await page.getByRole('link', { name: 'Operator password' }).click();
    await page.getByLabel('New password').fill('correct horse battery');
    await page.getByRole('button', { name: 'Set password' }).click();
    await page.getByText('Password set.').waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    await openAccountMenu(page);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('As the operator').check();
    await page.getByLabel('Operator password').fill('wrong horse battery');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('This is not the operator’s password').waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    await page.getByLabel('Operator password').fill('correct horse battery');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'Operator' }).waitFor();
  });

  test('a member signs in with a key, and sees no operator pages', async () => {
    const server = await startServer();
    const { page } = await newPage('dark');
    await page.goto(server.url);
    expect(await seriousViolations(page)).toEqual([]);
    await page.getByLabel('API key').fill('gen3d_wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('This API key is unknown or was revoked').waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    await page.getByLabel('API key').fill(server.apiKey);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Models' }).waitFor();
    expect(await page.getByRole('link', { name: 'Operator' }).count()).toBe(0);
    for (const name of ['API keys', 'Usage', 'Webhook']) {
      await page.getByRole('link', { name }).first().click();
      await page.getByRole('heading', { level: 1, name }).waitFor();
      expect(await seriousViolations(page)).toEqual([]);
    }
    for (const path of ['operator', 'password']) {
      await page.goto(`${server.url}/dashboard/${path}`);
      await page.getByText('Page not found').waitFor();
    }
    await openAccountMenu(page);
    expect(await page.getByRole('link', { name: 'Operator password' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    expect(await page.getByText('Your session has ended').count()).toBe(0);
  });

  test('a server with rates above 0 shows balances and prices', async () => {
    const server = await startServer({ rates: { g6e: 0.002 }, instance: 'g6e' });
    const { page } = await newPage();
    await page.goto(await signInLink(server.url, server.config));
    await page.getByRole('link', { name: 'Balance' }).click();
    await page.getByText('per second of inference on g6e').waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    await page.getByRole('link', { name: 'Operator', exact: true }).click();
    await page.getByLabel('Balance in USD').waitFor();
    expect(await seriousViolations(page)).toEqual([]);
  });

  test('files that are not images are reported and not sent', async () => {
    const server = await startServer();
    const { page } = await newPage();
    await page.goto(await signInLink(server.url, server.config));
    await page.getByText('Drop a photo here').waitFor();
    const sent: string[] = [];
    page.on('request', (request) => request.method() === 'POST' && sent.push(request.url()));
    await page.setInputFiles('input[type=file]', [
      { name: 'nothing.jpg', mimeType: 'image/jpeg', buffer: Buffer.alloc(0) },
      { name: 'noise.jpg', mimeType: 'image/jpeg', buffer: Buffer.from('these bytes are not an image') },
    ]);
    await page.getByText('nothing.jpg is empty').waitFor();
    await page.getByText('noise.jpg is not a recognized image').waitFor();
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    expect(sent).toEqual([]);
    expect(await seriousViolations(page)).toEqual([]);
  });

  test('HEIC and TIFF photos are converted, upright and with their colors, and damaged ones are explained', async () => {
    const server = await startServer();
    const { page, errors } = await newPage();
    await page.goto(await signInLink(server.url, server.config));
    await page.getByText('Drop a photo here').waitFor();
    const sent: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') sent.push(request.postDataJSON().input.image_urls[0]);
    });
    const heic = readFileSync(new URL('../../cli/test/photos/teapot.heic', import.meta.url));
    await page.setInputFiles('input[type=file]', [
      { name: 'teapot.heic', mimeType: '', buffer: heic },
      { name: 'damaged.heic', mimeType: 'image/heic', buffer: heic.subarray(0, 9_000) },
      { name: 'scan.tif', mimeType: 'image/tiff', buffer: sidewaysTiff() },
    ]);
    for (const name of ['teapot.heic', 'scan.tif']) {
      await page.locator('.card', { hasText: name }).getByText('Waiting').waitFor();
    }
    await page.locator('.card', { hasText: 'damaged.heic' }).getByText('cannot be decoded here').waitFor();
    expect(sent).toHaveLength(2);
    const [teapot, scan] = [await decodedIn(page, sent[0] ?? ''), await decodedIn(page, sent[1] ?? '')];
    const jpeg = readFileSync(new URL('../../../examples/photos/teapot.jpg', import.meta.url)).toString('base64');
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

  test('after signing out in another tab, signing in again restores the filter', async () => {
    const server = await startServer();
    const { page } = await newPage();
    const signIn = async (page: Page) => {
      await page.getByLabel('API key').fill(server.apiKey);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { name: 'Models' }).waitFor();
    };
    await page.goto(server.url);
    await signIn(page);
    await drop(page);
    await page.getByLabel('Failed').check();
    await page.getByText('No jobs in “Failed”.').waitFor();
    await page.getByRole('link', { name: 'Usage' }).click();
    await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
    await page.goBack();
    await page.getByText('No jobs in “Failed”.').waitFor();
    expect(await page.getByLabel('Failed').isChecked()).toBe(true);

    const other = await page.context().newPage();
    await other.goto(server.url);
    await openAccountMenu(other);
    await other.getByRole('button', { name: 'Sign out' }).click();
    await other.getByLabel('API key').waitFor();
    await other.close();
    await page.getByText('Your session has ended. Sign in again.').waitFor();
    await signIn(page);
    await page.getByText('No jobs in “Failed”.').waitFor();
  });

  test('an empty gallery makes a model of a sample photo', async () => {
    const server = await startServer();
    const { page, errors } = await newPage();
    await page.goto(await signInLink(server.url, server.config));
    await page.getByRole('button', { name: 'Make a model of the running shoe' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Make a model of the running shoe' }).click();
    await page.locator('.card', { hasText: 'running-shoe.webp' }).getByText('Waiting').waitFor();
    expect(errors).toEqual([]);
  });

  test('the gallery names jobs, searches, filters and sorts them', async () => {
    const { page, errors, names } = await galleryWith(['blue vase.png', 'red ball.png', 'Anvil.png']);
    expect(await names()).toEqual(['Anvil.png', 'red ball.png', 'blue vase.png']);
    await page.getByLabel('In progress 3').waitFor();
    await expectAccessible(page);

    await page.getByLabel('Sort').selectOption('By name');
    await expect.poll(names).toEqual(['Anvil.png', 'blue vase.png', 'red ball.png']);
    await page.getByLabel('Search by name or id').fill('VASE');
    await expect.poll(names).toEqual(['blue vase.png']);
    await page.getByLabel('Done 0').check();
    await page.getByText('No jobs match “VASE”.').waitFor();
    expect(new URL(page.url()).search).toBe('?show=done&sort=name&search=VASE');
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
    expect(new URL(page.url()).search).toBe('?sort=name&search=VASE');
    expect(errors).toEqual([]);
  });

  test('the selected jobs are hidden, and shown again', async () => {
    const { page, errors, names } = await galleryWith(['blue vase.png', 'red ball.png']);
    await page.getByRole('button', { name: 'Select', exact: true }).click();
    await page.getByLabel('Select blue vase.png').check();
    await page.getByText('1 selected').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Hide', exact: true }).click();
    await page.getByText('1 job hidden.').waitFor();
    await expect.poll(names).toEqual(['red ball.png']);
    await page.getByLabel('Hidden 1').check();
    await expect.poll(names).toEqual(['blue vase.png']);
    await page.getByRole('button', { name: 'Select', exact: true }).click();
    await page.getByRole('button', { name: 'Select all shown' }).click();
    await page.getByRole('button', { name: 'Show again' }).click();
    await page.getByText('No jobs in “Hidden”.').waitFor();
    await page.getByLabel('All 2').check();
    await expect.poll(names).toEqual(['red ball.png', 'blue vase.png']);
    expect(errors).toEqual([]);
  });

  test('a waiting job is canceled on its card or its page, and tried again', async () => {
    const { page, errors, names } = await galleryWith(['blue vase.png', 'red ball.png']);
    const ball = page.locator('.card', { hasText: 'red ball.png' });
    await page.getByRole('button', { name: 'Cancel red ball.png' }).click();
    await ball.getByText('Canceled').waitFor();
    await page.getByLabel('Failed 1').waitFor();
    await page.getByRole('button', { name: 'Try again: red ball.png' }).click();
    await ball.getByText('Waiting').waitFor();
    expect(await names()).toEqual(['red ball.png', 'blue vase.png']);

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
    await page.getByText('Number 2 in the queue').waitFor();
    await expectAccessible(page);

    const db = openDatabase(openDataDir(server.config).database);
    onTestFinished(() => db.destroy());
    await db
      .updateTable('jobs')
      .set({ status: 'FAILED', error_code: 'inference_failed', error_message: 'It failed.', finished_at: Date.now() })
      .where('label', '=', 'red ball.png')
      .execute();
    await page.getByText('Try another view').waitFor();
    await page.getByAltText('As uploaded').waitFor();
    expect(await page.getByText('The same request from a program').count()).toBe(0);
    await expectAccessible(page);
    await page.getByLabel('Another photo').setInputFiles({
      name: 'green cup.png',
      mimeType: photo.mimeType,
      buffer: Buffer.from(photo.base64, 'base64'),
    });
    await page.getByRole('heading', { level: 1, name: 'green cup.png' }).waitFor();
    expect(errors).toEqual([]);
  });

  test('no page scrolls sideways or overlaps its header on screens of 320 to 1440 pixels', async () => {
    const { server, page, errors } = await galleryWith(['a-name-without-a-space-that-is-too-long-for-a-phone.png']);
    const jobPage = await page.locator('.card a').getAttribute('href');
    await server.call('PUT', '/v1/webhook-endpoint', { url: `https://example.com/${'a-long-path'.repeat(20)}` });
    await server.call('POST', '/v1/webhook-endpoint/test');
    for (const path of [
      '/',
      jobPage,
      ...['keys', 'balance', 'webhook', 'operator', 'password'].map((name) => `/dashboard/${name}`),
    ]) {
      await page.goto(server.url + path);
      await page.locator('h1').waitFor();
      for (const width of [320, 390, 768, 1440]) {
        await page.setViewportSize({ width, height: 844 });
        expect(await page.evaluate('document.documentElement.scrollWidth'), `${path} at ${width}`).toBeLessThanOrEqual(
          width,
        );
        const [header, main] = [await page.locator('header').boundingBox(), await page.locator('main').boundingBox()];
        expect(main!.y, `${path} at ${width}`).toBeGreaterThanOrEqual(header!.y + header!.height);
      }
    }
    expect(errors).toEqual([]);
  });

  test('pages that cannot reach the server say so, and load when they can', async () => {
    const { page } = await galleryWith(['blue vase.png']);
    for (const name of ['API keys', 'Usage', 'Webhook', 'Operator']) {
      await page.context().setOffline(true);
      await page.getByRole('link', { name, exact: true }).click();
      await page.getByText('The server cannot be reached').first().waitFor();
      expect(await page.getByText('No models yet.').count()).toBe(0);
      await page.context().setOffline(false);
      await page.getByRole('heading', { level: 1, name }).waitFor();
      await page.getByText('The server cannot be reached').waitFor({ state: 'detached' });
    }
  });

  test('a model without a transparent thumbnail shows its JPEG, also after a change of the color scheme', async () => {
    const server = await startServer();
    const { page } = await newPage();
    await openSandboxGallery(server, page);
    const width = () =>
      page.locator('.card img').evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth);
    for (const colorScheme of ['light', 'dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme });
      await expect.poll(width).toBe(512);
    }
  });

  test('the sandbox, which everyone shares, offers no way to hide its jobs', async () => {
    const server = await startServer();
    const { page, errors } = await newPage();
    await openSandboxGallery(server, page);
    await page.getByRole('button', { name: 'Select', exact: true }).click();
    await page.getByRole('button', { name: 'Select all shown' }).click();
    await page.getByText('1 selected').waitFor();
    expect(await page.getByRole('button', { name: /Hide/ }).count()).toBe(0);
    await page.getByRole('button', { name: 'Select', exact: true }).click();
    await page.locator('.card a').first().click();
    await page.getByText('Permanent link').waitFor();
    expect(await page.getByRole('button', { name: /Hide/ }).count()).toBe(0);
    expect(errors).toEqual([]);
  });

  test('several models, and a model of several files, are downloaded as ZIP files', async () => {
    const server = await startServer();
    const { page, errors } = await newPage();
    await openSandboxGallery(server, page);
    await openSandboxGallery(server, page);
    const filesFrom = async (name: RegExp) => {
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name }).click();
      expect((await download).suggestedFilename()).toMatch(/\.zip$/);
      return withFile(await (await download).path(), async (file) => {
        const entries = [...(await readZipDirectory(file)).values()];
        const start = async (entry: ZipEntry) => (await file.read(await dataOffset(file, entry), 6)).toString('latin1');
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

  test('the bar of the selection stays visible while the gallery scrolls', async () => {
    const { page } = await galleryWith(Array.from({ length: 8 }, (_, i) => `ball ${i}.png`));
    await page.getByRole('button', { name: 'Select', exact: true }).click();
    for (const width of [390, 768, 1440]) {
      await page.setViewportSize({ width, height: 300 });
      await page.evaluate('scrollTo(0, 400)');
      // A click fails if something covers the button.
      await page.getByRole('button', { name: 'Select all shown' }).click();
      await page.getByText('8 selected').waitFor();
      expect(await page.evaluate('scrollY')).toBe(400);
    }
  });

  test('a failed job from a program shows its photo, and suggests another photo before the same one', async () => {
    const server = await startServer();
    const { page, errors } = await newPage();
    const image = `data:image/png;base64,${photo.base64}`;
    await server.call('POST', '/v1/jobs', { type: 'image-to-3d', input: { image_urls: [image] } });
    const db = openDatabase(openDataDir(server.config).database);
    onTestFinished(() => db.destroy());
    const fail = (code: 'no_foreground' | 'internal_error') =>
      db
        .updateTable('jobs')
        .set({ status: 'FAILED', error_code: code, error_message: 'It failed.', finished_at: Date.now() })
        .execute();
    await fail('no_foreground');
    await page.goto(await signInLink(server.url, server.config));
    const shown = (image: Locator) =>
      image.evaluate((element) => (element as unknown as { naturalWidth: number }).naturalWidth);
    const card = page.locator('.card');
    await expect.poll(() => shown(card.locator('img'))).toBe(160);
    expect(await card.getByRole('button', { name: /^Try again/ }).count()).toBe(0);
    await card.locator('a').click();
    await expect.poll(() => shown(page.getByAltText('As uploaded'))).toBe(160);
    const primary = page.locator('main .primary');
    expect(await primary.allTextContents()).toEqual(['Try another photo']);
    await expectAccessible(page);
    await fail('internal_error');
    await page.reload();
    await page.getByRole('button', { name: 'Try again' }).waitFor();
    expect(await primary.allTextContents()).toEqual(['Try again']);
    expect(errors).toEqual([]);
  });

  test('a failed job’s card is as high as the others, and its page has the whole message', async () => {
    const { server, page, errors } = await galleryWith(['blue vase.png', 'red ball.png']);
    const message =
      `No object stands out from the background of this image. ${'Send another photo. '.repeat(10)}`.trim();
    const db = openDatabase(openDataDir(server.config).database);
    onTestFinished(() => db.destroy());
    await db
      .updateTable('jobs')
      .set({ status: 'FAILED', error_code: 'no_foreground', error_message: message, finished_at: Date.now() })
      .where('label', '=', 'red ball.png')
      .execute();
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
});
