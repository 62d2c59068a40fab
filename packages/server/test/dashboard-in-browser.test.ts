import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, chromium, type Locator, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openAdmin } from '../src/admin.js';
import { ballPhoto } from './ball-photo.js';
import { startServer, type TestServer } from './kit.js';

const places = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/google-chrome', '/usr/bin/chromium-browser'];
const executablePath = places.find((path) => path && existsSync(path));
if (!executablePath) {
  console.warn(
    'SKIPPED: the dashboard in a browser, as no Chromium was found; say where it is with CHROMIUM=/path/to/it',
  );
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const photo = { name: 'ball.png', mimeType: 'image/png', base64: ballPhoto().toString('base64') };

let browser: Browser;
beforeAll(async () => {
  // No GPU is needed: SwiftShader draws on the processor.
  const args = ['--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist', '--no-sandbox'];
  if (executablePath) browser = await chromium.launch({ executablePath, args });
});
afterAll(() => browser?.close());

/** A page of a new browser profile, and everything it complains of: a refusal by the Content-Security-Policy as well. */
async function newPage(colorScheme: 'light' | 'dark' = 'light'): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext({
    colorScheme,
    reducedMotion: 'reduce',
    viewport: { width: 800, height: 600 },
  });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  return { page, complaints };
}

async function signInLink(server: TestServer): Promise<string> {
  const admin = await openAdmin(server.config);
  onTestFinished(() => admin.close());
  return server.url + (await admin.signInLink());
}

/** What axe calls serious or worse, as `rule: where`. */
async function seriousViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  return page.evaluate<string[]>(`axe.run().then(({ violations }) => violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ': ' + target.join(' '))))`);
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

/** The pixels, once two pictures in a row are the same: nothing moves any more. */
async function still(locator: Locator): Promise<Buffer> {
  for (let before = await locator.screenshot(); ; ) {
    const now = await locator.screenshot();
    if (now.equals(before)) return now;
    before = now;
  }
}

describe.skipIf(!executablePath)('in a browser', () => {
  test('a person signs in, drops a photo, turns its model, makes and revokes a key, sets a webhook and sees its ping', async () => {
    const server = await startServer({
      workers: 1,
      bundle: 'inflate',
      device: 'cpu',
      resolution: 64,
      textureSize: 256,
      webhookPingDelay: 0,
      webhookRetryDelays: [],
      allowPrivateNetwork: true,
    });
    const { page, complaints } = await newPage();
    await page.goto(await signInLink(server));
    await page.getByRole('heading', { name: 'Models' }).waitFor();
    expect(page.url()).toBe(`${server.url}/`);
    await page.getByText('Drop a photo here').waitFor();
    expect(await seriousViolations(page)).toEqual([]);

    await drop(page);
    await page.locator('.card .badge').waitFor();
    await page.locator('.card .badge.succeeded').waitFor();
    expect(await page.locator('.card').count()).toBe(1);
    expect(await seriousViolations(page)).toEqual([]);

    await page.locator('.card').click();
    await page.locator('.model[data-state=loaded]').waitFor();
    const model = page.locator('model-viewer');
    const before = await still(model);
    const box = (await model.boundingBox())!;
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x + box.width / 4, y, { steps: 5 });
    await page.mouse.up();
    expect((await still(model)).equals(before)).toBe(false);
    await page.getByAltText('What was sent').waitFor();
    expect(await seriousViolations(page)).toEqual([]);

    await page.getByRole('link', { name: 'API keys' }).first().click();
    await page.getByRole('button', { name: 'Create key' }).click();
    const apiKey = (await page.getByTestId('new-key').textContent())?.trim() ?? '';
    expect((await server.call('GET', '/v1/balance', undefined, apiKey)).status).toBe(200);
    expect(await seriousViolations(page)).toEqual([]);
    await page
      .getByRole('button', { name: /^Revoke the key/ })
      .first()
      .click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.locator('tr.past').waitFor();
    expect((await server.call('GET', '/v1/balance', undefined, apiKey)).status).toBe(403);

    await page.getByRole('link', { name: 'Webhook' }).click();
    await page.getByLabel('Address').fill('https://127.0.0.1:9/hook');
    await page.getByRole('button', { name: 'Set' }).click();
    await page.getByText('The address is set.').waitFor();
    await page.getByRole('button', { name: 'Send a ping' }).click();
    // Nobody listens there, and no retry is made: the ping becomes a dead letter.
    const letter = page.locator('tr', { hasText: 'ping' });
    await letter.getByText('Given up').waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    await letter.getByRole('button', { name: /^Replay/ }).click();
    await page.getByText('It is on its way again.').waitFor();

    for (const name of ['Balance', 'Operator']) {
      await page.getByRole('link', { name }).click();
      await page.getByRole('heading', { level: 1, name }).waitFor();
      await page.locator('.tile').first().waitFor();
      expect(await seriousViolations(page)).toEqual([]);
    }
    expect(complaints).toEqual([]);
    // Two cores that draw without a GPU take their time.
  }, 180_000);

  test('a member signs in with a key, sees no operator’s page, and nothing after signing out', async () => {
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
    for (const name of ['API keys', 'Balance', 'Webhook']) {
      await page.getByRole('link', { name }).first().click();
      await page.getByRole('heading', { level: 1, name }).waitFor();
      expect(await seriousViolations(page)).toEqual([]);
    }
    await page.goto(`${server.url}/dashboard/operator`);
    await page.getByText('There is no such page').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
  });
});
